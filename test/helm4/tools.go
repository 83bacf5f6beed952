//go:build tools

package helm4

import _ "helm.sh/helm/v4/cmd/helm"
