package redfish

import (
	"net/http"
	"strconv"

	"ferrule/lab/event"
)

const (
	accountPath   = root + "/AccountService/Accounts/{id}"
	accountSlots  = 16
	ownSlot       = "2" // the first is a vendor's
	maxPassword   = 64
	administrator = "Administrator"
)

type account struct {
	id         string
	name       string
	password   string
	enabled    bool
	mustChange bool
}

// accounts is the table of users, guarded by the BMC's mutex.
type accounts struct {
	list []*account
	next int
}

func newAccounts(cfg Config) *accounts {
	own := &account{id: ownSlot, name: cfg.Username, password: cfg.Password, enabled: true, mustChange: cfg.Quirks.FactoryPassword}
	t := &accounts{next: accountSlots + 1}
	if !cfg.Quirks.AccountSlots {
		t.list = []*account{own}
		return t
	}
	for i := range accountSlots {
		slot := &account{id: strconv.Itoa(i + 1)}
		if slot.id == ownSlot {
			slot = own
		}
		t.list = append(t.list, slot)
	}
	return t
}

func (t *accounts) named(name string) *account {
	for _, a := range t.list {
		if a.name == name && name != "" {
			return a
		}
	}
	return nil
}

func (t *accounts) byID(id string) *account {
	for _, a := range t.list {
		if a.id == id {
			return a
		}
	}
	return nil
}

func accountURI(id string) string { return root + "/AccountService/Accounts/" + id }

func accountService(*BMC, request) reply {
	return ok(doc{
		"@odata.id": root + "/AccountService", "@odata.type": "#AccountService.v1_11_0.AccountService",
		"Id": "AccountService", "Name": "Account Service", "ServiceEnabled": true,
		"MinPasswordLength": 1, "MaxPasswordLength": maxPassword,
		"Accounts": link(root + "/AccountService/Accounts"),
	})
}

func listAccounts(b *BMC, _ request) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	var paths []string
	for _, a := range b.users.list {
		paths = append(paths, accountURI(a.id))
	}
	return ok(collection(root+"/AccountService/Accounts", "ManagerAccountCollection", paths))
}

func (a *account) doc() doc {
	role := administrator
	if a.name == "" {
		role = "None"
	}
	return doc{
		"@odata.id": accountURI(a.id), "@odata.type": "#ManagerAccount.v1_9_0.ManagerAccount",
		"Id": a.id, "Name": "User Account", "UserName": a.name, "Password": nil, "RoleId": role,
		"Enabled": a.enabled, "Locked": false, "PasswordChangeRequired": a.mustChange,
	}
}

func showAccount(b *BMC, r request) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.users.byID(r.PathValue("id")); a != nil {
		return ok(a.doc())
	}
	return notFound(r.URL.Path)
}

func addAccount(b *BMC, r request) reply {
	if b.cfg.Quirks.AccountSlots {
		return refuse(http.StatusMethodNotAllowed, "Base.1.12.OperationNotAllowed", "Accounts have fixed slots.")
	}
	name, _ := r.body["UserName"].(string)
	password, _ := r.body["Password"].(string)
	if name == "" || password == "" || len(password) > maxPassword {
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyMissing", "UserName and Password are required.")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users.named(name) != nil {
		return refuse(http.StatusBadRequest, "Base.1.12.ResourceAlreadyExists", "The account %q exists.", name)
	}
	a := &account{id: strconv.Itoa(b.users.next), name: name, password: password, enabled: true}
	b.users.next++
	b.users.list = append(b.users.list, a)
	return reply{status: http.StatusCreated, body: a.doc(), header: map[string]string{"Location": accountURI(a.id)}}
}

func removeAccount(b *BMC, r request) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, a := range b.users.list {
		if a.id == r.PathValue("id") && a.id != ownSlot && !b.cfg.Quirks.AccountSlots {
			b.users.list = append(b.users.list[:i], b.users.list[i+1:]...)
			return noContent()
		}
	}
	return notFound(r.URL.Path)
}

func patchAccount(b *BMC, r request) reply {
	b.mu.Lock()
	known := b.users.byID(r.PathValue("id")) != nil
	b.mu.Unlock()
	if !known {
		return notFound(r.URL.Path)
	}
	for property, value := range r.body {
		if refusal, good := checkAccountProperty(property, value); !good {
			return refusal
		}
	}
	return b.perform(func() reply { return b.changeAccount(r.PathValue("id"), r.body) })
}

func checkAccountProperty(property string, value any) (reply, bool) {
	text, isText := value.(string)
	_, isBool := value.(bool)
	switch {
	case property == "Password" && isText && text != "" && len(text) <= maxPassword:
	case property == "UserName" && isText && text != "":
	case property == "RoleId" && isText:
	case property == "Enabled" && isBool:
	case property == "Password" || property == "UserName" || property == "RoleId" || property == "Enabled":
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyValueFormatError", "The value of %s is not accepted.", property), false
	default:
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyUnknown", "The property %s is unknown.", property), false
	}
	return reply{}, true
}

func (b *BMC) changeAccount(id string, change doc) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.users.byID(id)
	if a == nil {
		return notFound(accountURI(id))
	}
	if name, given := change["UserName"].(string); given {
		a.name = name
	}
	if enabled, given := change["Enabled"].(bool); given {
		a.enabled = enabled
	}
	if password, given := change["Password"].(string); given {
		a.password, a.mustChange, a.enabled = password, false, true
		if b.cfg.Quirks.DropsSessions {
			clear(b.sessions)
		}
		b.log.Add(event.PasswordChanged, "username", a.name)
	}
	return ok(a.doc())
}
