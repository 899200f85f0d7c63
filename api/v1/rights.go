package v1

import (
	"net/http"

	"ferrule/api/auth"
	"ferrule/api/policy"
	"ferrule/metal"
	"ferrule/openapi"
)

// rights are what the sender of one request may do. Outside of keystone
// everybody may do everything, and policies decide on secrets alone.
type rights struct {
	policy   *policy.Enforcer
	who      *auth.Identity
	enforced bool
	public   bool
	elevated string // project whose service users act for the system
	blind    bool   // nobody sees secrets

	made      policy.Values // the sender's credentials, once they are needed
	redacted  redaction     // of the last node that was asked about
	ownership [2]string     // of that node
	any       bool          // whether there was one
}

func (s *Service) rightsOf(who *auth.Identity, op *openapi.Operation) *rights {
	r := &rights{policy: s.policy, who: who, enforced: s.config.Default.AuthStrategy == "keystone", public: op.Public}
	if s.config.Default.RBACServiceRoleElevatedAccess {
		r.elevated = s.config.Default.RBACServiceProjectName
	}
	r.blind = s.policy.Nobody("show_password") && s.policy.Nobody("show_instance_secrets")
	return r
}

// credentials are what rules know of the sender.
func (r *rights) credentials() policy.Values {
	if r.made == nil {
		c := r.who.Credentials()
		c.IsPublicAPI, c.ElevatedProject = r.public, r.elevated
		r.made = c.Values()
	}
	return r.made
}

// system reports whether the sender acts for the system: with a token for it, as
// a service user that the configuration elevates, or where no scopes are known.
func (r *rights) system() bool {
	return !r.enforced || r.who.SystemScope == "all" || r.policy.Allows("service_role", r.credentials(), nil)
}

// authorize refuses what a policy does not allow; about names the object.
func (r *rights) authorize(name string, about policy.Values) error {
	if !r.enforced {
		return nil
	}
	return r.policy.Authorize(name, r.credentials(), about)
}

func (r *rights) allows(name string, about policy.Values) bool {
	return r.authorize(name, about) == nil
}

// ofNode names a node by its owner and lessee; one without a lessee has none
// that a rule could name (Ironic: check_owner_policy).
func ofNode(owner, lessee *string) policy.Values {
	about := policy.Values{"node.owner": textOrNil(owner)}
	if filled(lessee) {
		about["node.lessee"] = *lessee
	}
	return about
}

// ofPortsNode is ofNode as it is for what belongs to a node (Ironic:
// check_port_policy_and_retrieve).
func ofPortsNode(n *metal.Node) policy.Values {
	return policy.Values{"node.owner": textOrNil(n.Owner), "node.lessee": textOrNil(n.Lessee)}
}

// seeNode is the policy on whether a node is there at all for the sender.
const seeNode = "baremetal:node:get"

// sees says whether the sender may know of a node.
func (r *rights) sees(owner, lessee *string) bool {
	return r.allows(seeNode, ofNode(owner, lessee))
}

// authorizeNode refuses a node that the sender may not know of as if it were
// not there, and then what the operation's policy does not allow.
func (c *call) authorizeNode(n *metal.Node, ident string) error {
	if !c.rights.enforced || c.rights.public {
		return nil
	}
	about := ofNode(n.Owner, n.Lessee)
	if err := c.rights.conceal(seeNode, about, nodeNotFound(ident)); err != nil {
		return err
	}
	if c.op.About != openapi.AboutNode || c.op.Policies[0] == seeNode {
		return nil
	}
	return c.rights.authorize(c.op.Policies[0], about)
}

// conceal gives the error of what is not there where the sender may not know of
// an object. A token that is for something else altogether is told so.
func (r *rights) conceal(name string, about policy.Values, absent error) error {
	err := r.authorize(name, about)
	if err == nil || isScope(err) {
		return err
	}
	return absent
}

// authorizeOwned asks further policies about a node that was found.
func (c *call) authorizeOwned(n *metal.Node, names ...string) error {
	if !c.rights.enforced {
		return nil
	}
	about := ofNode(n.Owner, n.Lessee)
	for _, name := range names {
		if err := c.rights.authorize(name, about); err != nil {
			return err
		}
	}
	return nil
}

// authorizePort does for a port what authorizeNode does for a node.
func (s *Service) authorizePort(c *call, p *metal.Port, ident string) error {
	return s.authorizePart(c, p.NodeUUID, "Port", ident)
}

// project is whose nodes a list holds: nil for everybody's, else the sender's
// own project. wanted is what the query asks for (Ironic: check_list_policy).
func (r *rights) project(op *openapi.Operation, wanted *string) (*string, error) {
	refused := r.authorize(op.Policies[0], nil)
	if refused == nil {
		return wanted, nil
	}
	own := r.who.ProjectID
	if own == "" || filled(wanted) && *wanted != own {
		return nil, refused
	}
	return &own, r.authorize(op.Policies[1], nil)
}

// mayCreate says whether the sender creates a node for itself (owned) or for
// anybody.
func (s *Service) mayCreate(c *call) (owned bool, err error) {
	if s.config.API.ProjectAdminOwnNodes && c.rights.allows("baremetal:node:create:self_owned_node", nil) {
		return true, nil
	}
	return false, c.rights.authorize("baremetal:node:create", nil)
}

// takeOwnership makes a node that a project's admin creates the project's own.
// Without system scope, which noauth and http_basic have not, the creator is
// taken for such (Ironic: NodesController.post).
func (r *rights) takeOwnership(n *metal.Node) error {
	if r.who.SystemScope == "all" {
		return nil
	}
	if filled(n.Owner) && *n.Owner != r.who.ProjectID {
		return badRequest("Cannot create a node as a project scoped admin with an owner other than your own project.")
	}
	n.Owner = nil
	if r.who.ProjectID != "" {
		n.Owner = &r.who.ProjectID
	}
	return nil
}

// mayDelete lets a project's admin delete the project's own nodes.
func (s *Service) mayDelete(c *call, n *metal.Node) error {
	err := c.authorizeOwned(n, "baremetal:node:delete")
	if err == nil || isScope(err) || !s.config.API.ProjectAdminOwnNodes {
		return err
	}
	return c.authorizeOwned(n, "baremetal:node:delete:self_owned_node")
}

// mayCreatePort is asked whether or not the node was found, so that an answer
// tells nothing of nodes that the sender may not know of.
func (s *Service) mayCreatePort(c *call, n *metal.Node, found error) error {
	if !c.rights.enforced {
		return nil
	}
	about := ofNode(nil, nil)
	if found == nil && c.rights.sees(n.Owner, n.Lessee) {
		return c.authorizeOwned(n, "baremetal:port:create")
	}
	if found != nil && asFault(found).Status != http.StatusNotFound {
		return nil // a name that cannot be one is told so
	}
	if err := c.rights.authorize("baremetal:port:create", about); err != nil {
		return err
	}
	if found == nil {
		return asMissingReference(nodeNotFound(n.UUID))
	}
	return nil
}
