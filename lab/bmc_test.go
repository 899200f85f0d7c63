package lab_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"ferrule/lab"
)

// console is a client of one BMC.
type console struct {
	t        *testing.T
	address  string
	system   string
	username string
	password string
	client   *http.Client
}

func newConsole(t *testing.T, s *lab.Server) *console {
	username, password := s.Credentials()
	return &console{
		t: t, address: s.BMC.Address(), system: "/redfish/v1/Systems/" + s.SystemID, username: username, password: password,
		client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, DisableCompression: true,
		}},
	}
}

// try sends one request and returns what came of it.
func (c *console) try(method, path string, body any, header ...string) (*http.Response, map[string]any, error) {
	c.t.Helper()
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, c.address+path, content)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.username != "" {
		req.SetBasicAuth(c.username, c.password)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	var doc map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &doc); err != nil {
			c.t.Fatalf("%s %s: %v in %q", method, path, err, raw)
		}
	}
	return resp, doc, nil
}

// do sends a request that must be answered with the status.
func (c *console) do(want int, method, path string, body any, header ...string) map[string]any {
	c.t.Helper()
	resp, doc, err := c.try(method, path, body, header...)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != want {
		c.t.Fatalf("%s %s: %d, want %d: %v", method, path, resp.StatusCode, want, doc)
	}
	return doc
}

func (c *console) get(path string) map[string]any {
	c.t.Helper()
	return c.do(http.StatusOK, http.MethodGet, path, nil)
}

func (c *console) reset(kind string) {
	c.t.Helper()
	c.do(http.StatusNoContent, http.MethodPost, c.system+"/Actions/ComputerSystem.Reset", map[string]any{"ResetType": kind})
}

func (c *console) bootFrom(device, enabled string) {
	c.t.Helper()
	boot := map[string]any{"BootSourceOverrideTarget": device, "BootSourceOverrideEnabled": enabled, "HttpBootUri": nil}
	c.do(http.StatusNoContent, http.MethodPatch, c.system, map[string]any{"Boot": boot})
}

func (c *console) insert(image string) {
	c.t.Helper()
	c.do(http.StatusNoContent, http.MethodPost, c.system+"/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", map[string]any{"Image": image})
}

func (c *console) eject() {
	c.t.Helper()
	c.do(http.StatusNoContent, http.MethodPost, c.system+"/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia", map[string]any{})
}

// bootMedium starts the machine from an image, as a deployment does.
func (c *console) bootMedium(image string) {
	c.t.Helper()
	c.reset("ForceOff")
	c.eject()
	c.insert(image)
	c.bootFrom("Cd", "Once")
	c.reset("On")
}
