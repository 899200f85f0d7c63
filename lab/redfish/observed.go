package redfish

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"time"

	"ferrule/lab/event"
)

// Observed is what a BMC was asked.
type Observed struct {
	Actions  []Action       `json:"actions"`
	Logins   []Login        `json:"logins"`
	Requests map[string]int `json:"requests"` // by method and path
	Sessions int            `json:"sessions"` // open now
}

// Action is one reset that the BMC was asked for.
type Action struct {
	Time     time.Time `json:"time"`
	System   string    `json:"system"`
	Type     string    `json:"type"`
	Accepted bool      `json:"accepted"`
}

// Login is one pair of name and password that was given, and how often. The
// password itself is not kept.
type Login struct {
	Username       string    `json:"username"`
	PasswordSHA256 string    `json:"passwordSha256"`
	Right          bool      `json:"right"`
	Count          int       `json:"count"`
	First          time.Time `json:"first"`
	Last           time.Time `json:"last"`
}

const (
	maxLogins       = 1000
	maxActions      = 10000
	maxRequestKinds = 1000
)

// observer counts. It is guarded by the BMC's mutex.
type observer struct {
	actions  []Action
	logins   map[[2]string]*Login
	requests map[string]int
}

func newObserver() *observer {
	return &observer{logins: map[[2]string]*Login{}, requests: map[string]int{}}
}

func (o *observer) request(method, path string) {
	key := method + " " + path
	if _, known := o.requests[key]; known || len(o.requests) < maxRequestKinds {
		o.requests[key]++
	}
}

func (o *observer) action(a Action) {
	if len(o.actions) < maxActions {
		o.actions = append(o.actions, a)
	}
}

// login counts a pair and reports whether it is new.
func (o *observer) login(username, password string, right bool) bool {
	sum := sha256.Sum256([]byte(password))
	digest := hex.EncodeToString(sum[:])
	now := time.Now().UTC()
	key := [2]string{username, digest}
	l, known := o.logins[key]
	if !known {
		if len(o.logins) >= maxLogins {
			return false
		}
		l = &Login{Username: username, PasswordSHA256: digest, First: now}
		o.logins[key] = l
	}
	changed := !known || l.Right != right
	l.Right, l.Last = right, now
	l.Count++
	return changed
}

// Observed is what the BMC was asked so far.
func (b *BMC) Observed() Observed {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := Observed{
		Actions:  append([]Action{}, b.seen.actions...),
		Requests: make(map[string]int, len(b.seen.requests)),
		Sessions: len(b.sessions),
		Logins:   []Login{},
	}
	for k, n := range b.seen.requests {
		o.Requests[k] = n
	}
	for _, l := range b.seen.logins {
		o.Logins = append(o.Logins, *l)
	}
	sort.Slice(o.Logins, func(i, j int) bool { return o.Logins[i].First.Before(o.Logins[j].First) })
	return o
}

// noteAction counts a reset and tells the log.
func (b *BMC) noteAction(system, kind string, accepted bool) {
	b.mu.Lock()
	b.seen.action(Action{Time: time.Now().UTC(), System: system, Type: kind, Accepted: accepted})
	b.mu.Unlock()
	outcome := "accepted"
	if !accepted {
		outcome = "refused"
	}
	b.log.Add(event.PowerAction, "system", system, "type", kind, "outcome", outcome)
}
