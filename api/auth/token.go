package auth

import (
	"encoding/json"
	"time"
)

// token is what Keystone says of a token.
type token struct {
	Expires time.Time `json:"expires_at"`
	User    struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Domain domain `json:"domain"`
	} `json:"user"`
	Project struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Domain domain `json:"domain"`
	} `json:"project"`
	Domain domain `json:"domain"`
	System struct {
		All bool `json:"all"`
	} `json:"system"`
	Roles []struct {
		Name string `json:"name"`
	} `json:"roles"`
	IsAdminProject        *bool `json:"is_admin_project"`
	ApplicationCredential struct {
		AccessRules json.RawMessage `json:"access_rules"`
	} `json:"application_credential"`
}

type domain struct {
	ID string `json:"id"`
}

func (t *token) roles() []string {
	names := make([]string, len(t.Roles))
	for i, role := range t.Roles {
		names[i] = role.Name
	}
	return names
}

// restricted says whether the token is good for some calls only, which it lists.
func (t *token) restricted() bool {
	rules := string(t.ApplicationCredential.AccessRules)
	return rules != "" && rules != "null"
}

func (t *token) identity() Identity {
	who := Identity{
		User: t.User.Name, UserID: t.User.ID, UserDomainID: t.User.Domain.ID,
		ProjectID: t.Project.ID, ProjectName: t.Project.Name, ProjectDomainID: t.Project.Domain.ID,
		DomainID: t.Domain.ID, Roles: t.roles(),
		IsAdminProject: t.IsAdminProject == nil || *t.IsAdminProject,
	}
	if t.System.All {
		who.SystemScope = "all"
	}
	return who
}

func (t *token) service() Service {
	return Service{
		UserID: t.User.ID, UserDomainID: t.User.Domain.ID,
		ProjectID: t.Project.ID, ProjectDomainID: t.Project.Domain.ID, Roles: t.roles(),
	}
}
