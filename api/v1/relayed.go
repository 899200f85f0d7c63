package v1

import (
	"context"

	"ferrule/link"
	"ferrule/metal"
)

// hidden reports whether the call was relayed by the agent of another site than
// the node's. For such a call the node does not exist: an agent that was taken
// over must learn and change nothing of other sites.
func hidden(ctx context.Context, n *metal.Node) bool {
	site, relayed := link.RelayingSite(ctx)
	return relayed && site != n.ConductorGroup
}
