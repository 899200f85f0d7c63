package redfish

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/drivers/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = map[string]any

const sys = "/redfish/v1/Systems/1"

// request is one that reached the emulated BMC.
type request struct {
	method, path, body string
	header             http.Header
}

func (r request) line() string { return r.method + " " + r.path }

// emulated is a BMC of a few documents whose habits a test can change.
type emulated struct {
	server *httptest.Server
	user   string
	pass   string

	mu        sync.Mutex
	documents map[string]object
	requests  []request
	hooks     map[string]func(w http.ResponseWriter, r *http.Request, body object) bool
	tokens    map[string]string // token → session path
	sessions  bool              // whether there is a session service
	etags     map[string]string
}

func newBMC(t *testing.T) *emulated {
	b := &emulated{
		user: "admin", pass: rand.Text(), tokens: map[string]string{}, etags: map[string]string{},
		hooks: map[string]func(http.ResponseWriter, *http.Request, object) bool{},
	}
	b.documents = map[string]object{
		"/redfish/v1/Systems":    collection(sys),
		"/redfish/v1/Managers":   collection("/redfish/v1/Managers/1"),
		"/redfish/v1/Managers/1": {"@odata.type": "#Manager.v1_5_0.Manager", "FirmwareVersion": "7.1"},
		sys: {
			"@odata.id": sys, "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem", "PowerState": "Off",
			"Boot": object{
				"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideMode": "UEFI",
				"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Pxe", "Hdd", "Cd", "BiosSetup", "UefiHttp"},
			},
			"Actions": object{"#ComputerSystem.Reset": object{
				"target":                            sys + "/Actions/ComputerSystem.Reset",
				"ResetType@Redfish.AllowableValues": []string{"On", "ForceOff", "GracefulShutdown", "Nmi"},
			}},
			"EthernetInterfaces": link(sys + "/EthernetInterfaces"),
			"VirtualMedia":       link(sys + "/VirtualMedia"),
			"Links":              object{"ManagedBy": []object{link("/redfish/v1/Managers/1")}},
		},
		sys + "/EthernetInterfaces":   collection(sys+"/EthernetInterfaces/a", sys+"/EthernetInterfaces/b"),
		sys + "/EthernetInterfaces/a": {"Id": "a", "MACAddress": "52:54:00:AA:00:01", "SpeedMbps": 10000},
		sys + "/EthernetInterfaces/b": {"Id": "b", "MACAddress": "52-54-00-AA-00-02"},
		sys + "/VirtualMedia":         collection(sys+"/VirtualMedia/Floppy", sys+"/VirtualMedia/Cd"),
		sys + "/VirtualMedia/Floppy":  mediaSlot(sys+"/VirtualMedia/Floppy", "Floppy", "USBStick"),
		sys + "/VirtualMedia/Cd":      mediaSlot(sys+"/VirtualMedia/Cd", "CD", "DVD"),
	}
	b.server = httptest.NewUnstartedServer(http.HandlerFunc(b.serve))
	b.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	b.server.StartTLS()
	t.Cleanup(b.server.Close)
	return b
}

func link(path string) object { return object{"@odata.id": path} }

func collection(members ...string) object {
	links := []object{}
	for _, m := range members {
		links = append(links, link(m))
	}
	return object{"Members": links, "Members@odata.count": len(links)}
}

func mediaSlot(path string, types ...string) object {
	return object{
		"@odata.id": path, "Id": path[strings.LastIndexByte(path, '/')+1:], "MediaTypes": types, "Inserted": false, "Image": nil,
		"Actions": object{
			"#VirtualMedia.InsertMedia": object{"target": path + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  object{"target": path + "/Actions/VirtualMedia.EjectMedia"},
		},
	}
}

func (b *emulated) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, request{r.Method, r.URL.Path, string(raw), r.Header.Clone()})
	var body object
	if len(raw) > 0 && json.Unmarshal(raw, &body) != nil {
		refuse(w, 400, "MalformedJSON", "not JSON")
		return
	}
	if hook := b.hooks[r.Method+" "+r.URL.Path]; hook != nil && hook(w, r, body) {
		return
	}
	switch r.URL.Path {
	case "/redfish/v1/":
		answer(w, 200, object{"RedfishVersion": "1.11.0", "Links": object{"Sessions": link("/redfish/v1/Elsewhere/Sessions")}})
	case "/redfish/v1/Elsewhere/Sessions":
		b.openSession(w, r, body)
	default:
		if !b.authorised(r) {
			refuse(w, 401, "InsufficientPrivilege", "who are you")
			return
		}
		b.serveResource(w, r, body)
	}
}

func (b *emulated) openSession(w http.ResponseWriter, r *http.Request, body object) {
	switch {
	case !b.sessions || r.Method != http.MethodPost:
		refuse(w, 404, "ResourceMissingAtURI", "no sessions here")
	case body["UserName"] != b.user || body["Password"] != b.pass:
		refuse(w, 401, "NoValidSession", "rejected")
	default:
		token := rand.Text()
		b.tokens[token] = "/redfish/v1/Elsewhere/Sessions/" + rand.Text()
		w.Header().Set("X-Auth-Token", token)
		w.Header().Set("Location", b.server.URL+b.tokens[token])
		answer(w, 201, object{})
	}
}

func (b *emulated) authorised(r *http.Request) bool {
	if b.tokens[r.Header.Get("X-Auth-Token")] != "" {
		return true
	}
	user, pass, ok := r.BasicAuth()
	return ok && user == b.user && pass == b.pass
}

func (b *emulated) serveResource(w http.ResponseWriter, r *http.Request, body object) {
	path := r.URL.Path
	resource, act, isAction := strings.Cut(path, "/Actions/")
	doc := b.documents[resource]
	switch {
	case r.Method == http.MethodDelete:
		maps.DeleteFunc(b.tokens, func(_, session string) bool { return session == path })
		w.WriteHeader(204)
	case doc == nil:
		refuse(w, 404, "ResourceMissingAtURI", "there is nothing at "+path)
	case r.Method == http.MethodGet && !isAction:
		if tag := b.etags[path]; tag != "" {
			w.Header().Set("ETag", tag)
		}
		answer(w, 200, doc)
	case r.Method == http.MethodPatch:
		merge(doc, body)
		w.WriteHeader(204)
	case r.Method == http.MethodPost && isAction:
		b.act(w, doc, act, body)
	default:
		refuse(w, 405, "OperationNotAllowed", "not here")
	}
}

func (b *emulated) act(w http.ResponseWriter, doc object, act string, body object) {
	switch act {
	case "ComputerSystem.Reset":
		switch body["ResetType"] {
		case "On":
			doc["PowerState"] = "On"
		case "ForceOff", "GracefulShutdown":
			doc["PowerState"] = "Off"
		}
	case "VirtualMedia.InsertMedia":
		doc["Image"], doc["Inserted"] = body["Image"], true
	case "VirtualMedia.EjectMedia":
		doc["Image"], doc["Inserted"] = nil, false
	default:
		refuse(w, 400, "ActionNotSupported", act)
		return
	}
	w.WriteHeader(204)
}

func merge(into, from object) {
	for k, v := range from {
		deeper, ok := v.(object)
		if there, both := into[k].(object); ok && both {
			merge(there, deeper)
			continue
		}
		into[k] = v
	}
}

func answer(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

func refuse(w http.ResponseWriter, status int, id, text string, args ...string) {
	answer(w, status, object{"error": object{"code": "Base.1.8.GeneralError", "message": "see below", "@Message.ExtendedInfo": []object{{
		"MessageId": "Base.1.8." + id, "Message": text, "MessageArgs": args, "Resolution": "None",
	}}}})
}

// on sets what happens at "METHOD path"; a hook that returns false lets the
// usual thing happen.
func (b *emulated) on(where string, hook func(w http.ResponseWriter, r *http.Request, body object) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hooks[where] = hook
}

// set changes a document's members.
func (b *emulated) set(path string, members object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.documents[path] == nil {
		b.documents[path] = object{}
	}
	maps.Copy(b.documents[path], members)
}

func (b *emulated) drop(path string, members ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range members {
		delete(b.documents[path], m)
	}
}

// seen are the requests whose line starts with prefix.
func (b *emulated) seen(prefix string) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []request
	for _, r := range b.requests {
		if strings.HasPrefix(r.line(), prefix) {
			out = append(out, r)
		}
	}
	return out
}

func (b *emulated) address() string { return b.server.Listener.Addr().String() }

func (b *emulated) pin() string {
	sum := sha256.Sum256(b.server.Certificate().RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

func (b *emulated) certificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.server.Certificate().Raw}))
}

// target reaches the BMC with its pin and basic authentication.
func (b *emulated) target() driver.Target {
	return driver.Target{
		Address: b.address(), TLSSPKISHA256: b.pin(),
		Credentials: driver.Credentials{Username: b.user, Password: b.pass},
		Options:     driver.Options{optAuthType: authBasic},
	}
}

// quickPace makes every wait short.
func quickPace() pace {
	return pace{
		connect: 5 * time.Second, request: 5 * time.Second,
		retryFirst: time.Millisecond, retryMost: 5 * time.Millisecond, retryFor: 5 * time.Second, postFor: 5 * time.Second,
		pollFirst: time.Millisecond, pollMost: 5 * time.Millisecond, settle: 100 * time.Millisecond, taskFor: 5 * time.Second,
		conflictEvery: time.Millisecond,
	}
}

func newDriver(t *testing.T, plain ...string) *Driver {
	var networks []netip.Prefix
	for _, p := range plain {
		networks = append(networks, netip.MustParsePrefix(p))
	}
	d := New(Config{PlainHTTPNetworks: networks, Log: slog.New(slog.DiscardHandler)})
	d.pace = quickPace()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return d
}

// want fails the test at an error.
func want[R any](t *testing.T) func(R, error) R {
	return func(r R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return r
	}
}

// serveOn starts a server on a loopback port of its own.
func serveOn(t *testing.T, s *http.Server) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serving: %v", err)
		}
	}()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		<-done
	})
	return l.Addr().String()
}
