package v1

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ferrule/failpoint"
	"ferrule/link"
	"ferrule/metal"
	"ferrule/store"
)

// continueInspection takes what a ramdisk found (Ironic:
// ContinueInspectionController). Whatever keeps the node from being found gives
// the same 404.
func (s *Service) continueInspection(c *call) error {
	data, err := decodeObject(metal.StorableJSON(c.raw))
	if err != nil {
		return err
	}
	inventory, err := checkInventory(data)
	if err != nil {
		return err
	}
	uuid, err := c.query.uuid("node_uuid")
	if err != nil {
		return err
	}
	if err := s.checkRamdiskEndpoints(c); err != nil {
		return err
	}
	if err := c.checkVersion(); err != nil {
		return err
	}
	if uuid != nil && c.version < c.op.Min {
		return notFound("API version 1.84 or newer is required")
	}
	ctx := c.Request().Context()
	n, err := s.inspectedNode(ctx, uuid, inventory)
	if err != nil {
		return err
	}
	if err := s.requireConductor(ctx, &n, http.StatusBadRequest); err != nil {
		return err
	}
	if err := s.checkProof(ctx, &n, uuid, inventory); err != nil {
		return err
	}
	token := ""
	if c.version >= c.op.Min {
		if token, err = s.giveToken(ctx, &n); err != nil {
			return err
		}
	}
	delete(data, "inventory")
	payload := metal.InspectionPayload{Inventory: metal.ToJSON(inventory), PluginData: metal.ToJSON(data)}
	err = s.changeNode(ctx, n.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		if n.ProvisionState != metal.InspectWait {
			return lookupFailed()
		}
		return tx.Post(ctx, n.UUID, metal.InboxInspection, metal.ToJSON(payload))
	})
	if err != nil {
		return err
	}
	failpoint.Hit("api-inspection-committed")
	if c.version < c.op.Min {
		return c.JSON(http.StatusAccepted, map[string]string{"uuid": n.UUID})
	}
	return s.answerRamdisk(c, http.StatusAccepted, &n, token)
}

// checkProof refuses relayed data for a node whose ramdisk was given a token in
// its medium, and with it the proof, where they come without that proof. A call
// to the API itself is taken as in Ironic.
func (s *Service) checkProof(ctx context.Context, n *metal.Node, uuid *string, inventory map[string]any) error {
	given, _ := n.DriverInternalInfo.Lookup(metal.InfoPregenerated).(bool)
	if _, relayed := link.RelayingSite(ctx); !relayed || !given {
		return nil
	}
	token, err := s.token(ctx, n)
	if err != nil || token == "" {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(metal.InspectionProof(token)), []byte(link.InspectionProof(ctx))) == 1 {
		return nil
	}
	return s.refuseLookup(ctx, uuid, inventoryMACs(inventory),
		fmt.Sprintf("the data for node %s do not come from the ramdisk in its medium: they lack the proof that is in the address there", n.UUID))
}

// checkInventory refuses data without a usable inventory.
func checkInventory(data map[string]any) (map[string]any, error) {
	inventory, err := usableInventory(data)
	return inventory, schemaOf("data", err)
}

func usableInventory(data map[string]any) (map[string]any, error) {
	inventory, ok := data["inventory"].(map[string]any)
	if !ok {
		return nil, missing("inventory")
	}
	interfaces, ok := inventory["interfaces"].([]any)
	switch {
	case !ok:
		return nil, missing("interfaces")
	case len(interfaces) == 0:
		return nil, empty(interfaces)
	}
	for _, item := range interfaces {
		nic, _ := item.(map[string]any)
		if _, ok := nic["mac_address"].(string); !ok {
			return nil, missing("mac_address")
		}
	}
	for _, key := range []string{"bmc_address", "bmc_v6address"} {
		switch v := inventory[key].(type) {
		case nil, string:
		default:
			return nil, wrongType(v, "string")
		}
	}
	return inventory, nil
}

// inspectedNode finds the node in inspect wait by UUID, MACs and BMC addresses,
// which must not contradict each other (Ironic: inspect_utils.lookup_node).
func (s *Service) inspectedNode(ctx context.Context, uuid *string, inventory map[string]any) (metal.Node, error) {
	macs := inventoryMACs(inventory)
	bmcs := inventoryBMCs(inventory)
	if len(macs) == 0 && len(bmcs) == 0 && uuid == nil {
		return metal.Node{}, badRequest("No lookup information provided")
	}
	var found *metal.Node
	if uuid != nil {
		n, err := s.lookupNode(ctx, uuid, nil)
		if err != nil {
			return n, err
		}
		found = &n
	}
	why := "no node has a port with one of the MAC addresses"
	if len(macs) > 0 {
		n, err := s.store.NodeByMACs(ctx, macs)
		switch {
		case metal.ReasonOf(err) == metal.NotFound:
		case err == nil && hidden(ctx, &n):
			why = otherSite(ctx, &n)
		case err != nil:
			return n, err
		case found != nil && found.UUID != n.UUID:
			return n, s.refuseLookup(ctx, uuid, macs, "the MAC addresses are those of node "+n.UUID)
		default:
			found = &n
		}
	}
	if found != nil && found.ProvisionState != metal.InspectWait {
		return metal.Node{}, s.refuseLookup(ctx, uuid, macs, wrongState(found))
	}
	if len(bmcs) > 0 {
		byBMC, refused, err := s.nodeByBMC(ctx, bmcs, found)
		if err != nil {
			return metal.Node{}, err
		}
		if found = byBMC; refused != "" {
			why = refused
		}
	}
	if found == nil {
		return metal.Node{}, s.refuseLookup(ctx, uuid, macs, why)
	}
	return *found, nil
}

func inventoryMACs(inventory map[string]any) []string {
	var addresses []string
	interfaces, _ := inventory["interfaces"].([]any)
	for _, item := range interfaces {
		nic, _ := item.(map[string]any)
		if mac, ok := nic["mac_address"].(string); ok {
			addresses = append(addresses, mac)
		}
	}
	return validMACs(addresses)
}

// inventoryBMCs are the BMC addresses that say something: a ramdisk that found
// none sends zeros.
func inventoryBMCs(inventory map[string]any) []string {
	var addresses []string
	for _, key := range []string{"bmc_address", "bmc_v6address"} {
		text, _ := inventory[key].(string)
		text, _, _ = strings.Cut(text, "/")
		if ip := net.ParseIP(text); ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() {
			addresses = append(addresses, ip.String())
		}
	}
	return addresses
}

// nodeByBMC is the one node in inspect wait whose BMC has one of the addresses;
// where none has, what was found before stands. Where it is nobody, it says why.
func (s *Service) nodeByBMC(ctx context.Context, addresses []string, found *metal.Node) (*metal.Node, string, error) {
	list, err := s.store.Nodes(ctx, store.NodeQuery{States: []metal.State{metal.InspectWait}, IncludeChildren: true})
	if err != nil {
		return nil, "", err
	}
	var matches []metal.Node
	for _, n := range list {
		if !hidden(ctx, &n) && slices.ContainsFunc(bmcAddresses(&n), func(a string) bool { return slices.Contains(addresses, a) }) {
			matches = append(matches, n)
		}
	}
	switch {
	case len(matches) == 0:
		return found, "", nil
	case found != nil:
		if slices.ContainsFunc(matches, func(n metal.Node) bool { return n.UUID == found.UUID }) {
			return found, "", nil
		}
		return nil, fmt.Sprintf("the MAC addresses are those of node %s, the BMC's that of node %s", found.UUID, matches[0].UUID), nil
	case len(matches) == 1:
		return &matches[0], "", nil
	}
	return nil, fmt.Sprintf("%d nodes in inspect wait have the BMC address; make ports for them", len(matches)), nil
}

// bmcAddresses are the addresses in a node's driver_info. Names are resolved at
// the site, never here.
func bmcAddresses(n *metal.Node) []string {
	var out []string
	for key, v := range n.DriverInfo.Object() {
		text, ok := v.(string)
		if !ok || !strings.HasSuffix(key, "_address") {
			continue
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			text = u.Hostname()
		}
		if ip := net.ParseIP(strings.Trim(text, "[]")); ip != nil {
			out = append(out, ip.String())
		}
	}
	return out
}
