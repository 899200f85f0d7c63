package redfish

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"path"
	"sort"
	"strings"

	"ferrule/lab/event"
)

// session is one that is open.
type session struct {
	id   string
	user string
}

// authorise checks a session's token, else basic credentials.
func (b *BMC) authorise(r *http.Request, p string) (reply, bool) {
	user, valid := b.authenticate(r)
	if !valid {
		refusal := refuse(http.StatusUnauthorized, "Base.1.12.NoValidSession", "There is no valid session established with the implementation.")
		refusal.header = map[string]string{"WWW-Authenticate": `Basic realm="bmc"`}
		return refusal, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.users.named(user)
	if own != nil && own.mustChange && p != accountURI(own.id) && !strings.HasPrefix(p, sessionsPath) {
		refusal := refuse(http.StatusForbidden, "Base.1.12.PasswordChangeRequired",
			"The password must be changed at %s before anything else.", accountURI(own.id))
		refusal.body["error"].(doc)["@Message.ExtendedInfo"].([]doc)[0]["MessageArgs"] = []string{accountURI(own.id)}
		return refusal, false
	}
	return reply{}, true
}

func (b *BMC) authenticate(r *http.Request) (string, bool) {
	if token := r.Header.Get("X-Auth-Token"); token != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		s, known := b.sessions[token]
		return s.user, known && !b.faults.RefusePassword
	}
	user, password, given := r.BasicAuth()
	if !given {
		return "", false
	}
	return user, b.checkPassword(user, password)
}

// checkPassword counts the attempt, whatever comes of it.
func (b *BMC) checkPassword(user, password string) bool {
	b.mu.Lock()
	account := b.users.named(user)
	right := account != nil && account.enabled &&
		subtle.ConstantTimeCompare([]byte(account.password), []byte(password)) == 1
	fresh := b.seen.login(user, password, right)
	allowed := right && !b.faults.RefusePassword
	b.mu.Unlock()
	if fresh {
		outcome := "wrong"
		if right {
			outcome = "right"
		}
		b.log.Add(event.Login, "username", user, "password", outcome)
	}
	return allowed
}

func sessionService(*BMC, request) reply {
	return ok(doc{
		"@odata.id": root + "/SessionService", "@odata.type": "#SessionService.v1_1_8.SessionService",
		"Id": "SessionService", "Name": "Session Service", "ServiceEnabled": true, "SessionTimeout": 1800,
		"Sessions": link(sessionsPath),
	})
}

func listSessions(b *BMC, _ request) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	var paths []string
	for _, s := range b.sessions {
		paths = append(paths, sessionsPath+"/"+s.id)
	}
	sort.Strings(paths)
	return ok(collection(sessionsPath, "SessionCollection", paths))
}

func openSession(b *BMC, r request) reply {
	user, _ := r.body["UserName"].(string)
	password, isText := r.body["Password"].(string)
	if user == "" || !isText {
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyMissing", "UserName and Password are required.")
	}
	if !b.checkPassword(user, password) {
		return refuse(http.StatusUnauthorized, "Base.1.12.ResourceAtUriUnauthorized", "The credentials are not valid.")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if limit := b.cfg.Quirks.SessionLimit; limit > 0 && len(b.sessions) >= limit {
		return refuse(http.StatusServiceUnavailable, "Base.1.12.SessionLimitExceeded",
			"The session establishment failed because the number of simultaneous sessions reached its maximum.")
	}
	token, s := rand.Text(), session{id: rand.Text()[:12], user: user}
	b.sessions[token] = s
	return reply{
		status: http.StatusCreated,
		body:   sessionDoc(s),
		header: map[string]string{"X-Auth-Token": token, "Location": sessionsPath + "/" + s.id},
	}
}

func sessionDoc(s session) doc {
	return doc{
		"@odata.id": sessionsPath + "/" + s.id, "@odata.type": "#Session.v1_3_0.Session",
		"Id": s.id, "Name": "User Session", "UserName": s.user,
	}
}

func showSession(b *BMC, r request) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		if s.id == path.Base(r.URL.Path) {
			return ok(sessionDoc(s))
		}
	}
	return notFound(r.URL.Path)
}

func closeSession(b *BMC, r request) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	for token, s := range b.sessions {
		if s.id == path.Base(r.URL.Path) {
			delete(b.sessions, token)
			return noContent()
		}
	}
	return notFound(r.URL.Path)
}
