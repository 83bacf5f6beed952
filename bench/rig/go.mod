module sluice.dev/bench/rig

go 1.24
