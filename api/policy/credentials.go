package policy

// Credentials are what rules know of a caller (oslo.context: to_policy_values,
// and what Ironic adds).
type Credentials struct {
	UserID, UserDomainID                     string
	ProjectID, ProjectName, ProjectDomainID  string
	DomainID                                 string // of a token for a domain
	SystemScope                              string // "all" of a token for the system
	Roles                                    []string
	IsAdminProject                           bool
	ServiceUserID, ServiceUserDomainID       string
	ServiceProjectID, ServiceProjectDomainID string
	ServiceRoles                             []string
	IsPublicAPI                              bool   // the route needs no token
	ElevatedProject                          string // whose service users act for the system; "": none
}

// Values are the credentials as rules name them; what is not there is None.
func (c *Credentials) Values() Values {
	v := Values{
		"user_id": orNone(c.UserID), "user_domain_id": orNone(c.UserDomainID),
		"system_scope": orNone(c.SystemScope), "domain_id": orNone(c.DomainID),
		"project_id": orNone(c.ProjectID), "project_domain_id": orNone(c.ProjectDomainID), "project_name": orNone(c.ProjectName),
		"roles": list(c.Roles), "is_admin_project": c.IsAdminProject,
		"service_user_id": orNone(c.ServiceUserID), "service_user_domain_id": orNone(c.ServiceUserDomainID),
		"service_project_id": orNone(c.ServiceProjectID), "service_project_domain_id": orNone(c.ServiceProjectDomainID),
		"service_roles": list(c.ServiceRoles), "is_public_api": c.IsPublicAPI,
	}
	if c.SystemScope != "" {
		v["system"] = c.SystemScope
	}
	if c.ElevatedProject != "" {
		v["config.service_project_name"] = c.ElevatedProject
	}
	return v
}

func list(roles []string) []string {
	if roles == nil {
		return []string{}
	}
	return roles
}

func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// With is the values and one more: what a call is about is named beside who
// calls.
func (v Values) With(more Values) Values {
	if len(more) == 0 {
		return v
	}
	all := make(Values, len(v)+len(more))
	for key, value := range v {
		all[key] = value
	}
	for key, value := range more {
		all[key] = value
	}
	return all
}
