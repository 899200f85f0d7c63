package v1

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// createNode enrolls a node.
func (s *Service) createNode(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	n, err := s.newNode(c, body)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.requireConductor(ctx, n, http.StatusBadRequest); err != nil {
		return err
	}
	if err := s.catalogue.ResolveInterfaces(n); err != nil {
		return err
	}
	secrets, err := s.sealSecrets(&metal.Node{DriverInfo: metal.EmptyObject, InstanceInfo: metal.EmptyObject}, n)
	if err != nil {
		return err
	}
	given := *n
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		*n = given
		if err := s.linkParent(c, tx, ctx, n); err != nil {
			return err
		}
		if err := enterChassis(ctx, tx, &metal.Node{}, n); err != nil {
			return err
		}
		if err := tx.InsertNode(ctx, n); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	c.location("nodes/" + n.UUID)
	return s.answerNode(c, http.StatusCreated, n, detailView(openapi.NodeFields, c.version))
}

// newNode is the node that the body describes (Ironic: NodesController.post).
func (s *Service) newNode(c *call, body map[string]any) (*metal.Node, error) {
	n := &metal.Node{
		ProvisionState: metal.Enroll,
		DriverInfo:     metal.EmptyObject, Properties: metal.EmptyObject, Extra: metal.EmptyObject,
		InstanceInfo: metal.EmptyObject, NetworkData: metal.EmptyObject,
	}
	if c.version < 11 {
		n.ProvisionState = metal.Available
	}
	if err := setAll(n, openapi.NodeFields, body); err != nil {
		return nil, schemaOf("node", err)
	}
	if _, ok := body["driver"]; !ok {
		return nil, schemaOf("node", missing("driver"))
	}
	if data, ok := body["network_data"].(map[string]any); ok && len(data) > 0 {
		if err := checkNetworkData(data); err != nil {
			return nil, err
		}
	}
	if err := s.checkEnrollment(n); err != nil {
		return nil, err
	}
	owned, err := s.mayCreate(c)
	if err != nil {
		return nil, err
	}
	if err := rejectNewer(openapi.NodeFields, c.version, body); err != nil {
		return nil, err
	}
	if err := checkConductorGroup(body["conductor_group"]); err != nil {
		return nil, err
	}
	if n.UUID == "" {
		n.UUID = newUUID()
	}
	if n.Name != nil {
		if err := checkNodeName("Cannot create node with", c.version, *n.Name); err != nil {
			return nil, err
		}
	}
	if owned {
		if err := c.rights.takeOwnership(n); err != nil {
			return nil, err
		}
	}
	if err := checkSizes(n); err != nil {
		return nil, err
	}
	s.fillDefaults(n)
	return n, nil
}

func (s *Service) fillDefaults(n *metal.Node) {
	if n.ConductorGroup == "" {
		n.ConductorGroup = strings.ToLower(s.config.Default.DefaultConductorGroup)
	}
	if (n.ResourceClass == nil || *n.ResourceClass == "") && s.config.Default.DefaultResourceClass != "" {
		class := s.config.Default.DefaultResourceClass
		n.ResourceClass = &class
	}
}

// setAll stores every member of the body; unknown ones are refused first.
func setAll(n *metal.Node, r *openapi.Resource, body map[string]any) error {
	if err := onlyKnown(body, creatable(r)); err != nil {
		return err
	}
	for _, f := range r.Fields {
		v, given := body[f.Name]
		if !given {
			continue
		}
		if v == nil && f.Name == "maintenance" {
			return wrongType(v, "string", "boolean")
		}
		if err := setAttribute(n, f.Name, v); err != nil {
			return err
		}
	}
	return nil
}

// rejectNewer refuses fields that the version does not know, unless they say
// nothing.
func rejectNewer(r *openapi.Resource, v openapi.Version, body map[string]any) error {
	for name, value := range body {
		f, _, ok := r.Field(name)
		if !ok || f.VisibleAt(v) || value == nil || name == "conductor_group" && value == "" {
			continue
		}
		return notAcceptable()
	}
	return nil
}

// reservedNames cannot be a node's name (Ironic: get_controller_reserved_names).
var reservedNames = []string{"maintenance", "management", "states", "vendor_passthru", "detail", "validate"}

// checkNodeName refuses a name that a node cannot have; refusal begins what is
// said of it.
func checkNodeName(refusal string, v openapi.Version, name string) error {
	switch {
	case v < 5:
		return notAcceptable()
	case !isNodeName(name, v) || isUUIDLike(name):
		return badRequest("%s invalid name '%s'", refusal, name)
	case slices.Contains(reservedNames, name):
		return badRequest("The word %q is reserved and can not be used as a node name. Reserved words are: %s.",
			name, strings.Join(reservedNames, ", "))
	}
	return nil
}

// checkEnrollment refuses boot modes that the configuration bans.
func (s *Service) checkEnrollment(n *metal.Node) error {
	for _, banned := range s.config.API.DisallowedEnrollBootModes {
		if strings.Contains(n.Properties.Text("capabilities"), "boot_mode:"+banned) {
			return badRequest("Boot mode %s is not allowed by this deployment's configuration.", banned)
		}
	}
	return nil
}

// linkParent turns parent_node into the UUID of a node of the same owner.
func (s *Service) linkParent(c *call, tx *store.Tx, ctx context.Context, n *metal.Node) error {
	if n.ParentNode == nil || *n.ParentNode == "" {
		return nil
	}
	refused := badRequest("Unable to apply the requested parent_node '%s'. Requested value was invalid.", *n.ParentNode)
	if checkNodeIdent(c, *n.ParentNode) != nil {
		return refused
	}
	if *n.ParentNode == n.UUID {
		return nil
	}
	parent, err := tx.Node(ctx, *n.ParentNode)
	switch {
	case metal.ReasonOf(err) == metal.NotFound:
		return refused
	case err != nil:
		return err
	case !c.rights.sees(parent.Owner, parent.Lessee):
		return refused
	case !sameText(parent.Owner, n.Owner):
		return refused
	}
	n.ParentNode = &parent.UUID
	return nil
}

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
