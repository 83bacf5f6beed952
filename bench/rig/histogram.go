package main

import (
	"math"
	"math/bits"
	"time"
)

// A value of 2^k has this many buckets up to 2^(k+1), so a percentile is at most 1/256 too high.
const subBuckets, subBits = 256, 8

// histogram counts durations in buckets whose width grows with the value, as HdrHistogram does.
type histogram struct {
	counts []int64
	total  int64
	sum    float64
	max    time.Duration
}

func newHistogram() *histogram { return &histogram{counts: make([]int64, 48*subBuckets)} }

func bucketOf(value int64) int {
	shift := max(bits.Len64(uint64(value))-subBits-1, 0)
	return shift*subBuckets + int(value>>shift)
}

// highestIn is the largest value that falls into the bucket.
func highestIn(bucket int) int64 {
	if bucket < 2*subBuckets {
		return int64(bucket)
	}
	shift := bucket/subBuckets - 1
	return int64(bucket-shift*subBuckets+1)<<shift - 1
}

func (h *histogram) add(value time.Duration) {
	value = max(value, 0)
	h.counts[min(bucketOf(int64(value)), len(h.counts)-1)]++
	h.total++
	h.sum += float64(value)
	h.max = max(h.max, value)
}

func (h *histogram) merge(other *histogram) {
	for bucket, count := range other.counts {
		h.counts[bucket] += count
	}
	h.total += other.total
	h.sum += other.sum
	h.max = max(h.max, other.max)
}

// at returns a value that this share of all values does not exceed.
func (h *histogram) at(share float64) time.Duration {
	wanted := max(int64(math.Ceil(share*float64(h.total))), 1)
	var seen int64
	for bucket, count := range h.counts {
		if seen += count; seen >= wanted {
			return min(time.Duration(highestIn(bucket)), h.max)
		}
	}
	return h.max
}

// Percentiles are in microseconds.
type Percentiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// percentiles returns nil for an empty histogram.
func (h *histogram) percentiles() *Percentiles {
	if h.total == 0 {
		return nil
	}
	micros := func(value time.Duration) float64 { return float64(value) / 1e3 }
	return &Percentiles{
		Count: h.total, Mean: h.sum / float64(h.total) / 1e3,
		P50: micros(h.at(0.5)), P90: micros(h.at(0.9)), P99: micros(h.at(0.99)), P999: micros(h.at(0.999)), Max: micros(h.max),
	}
}
