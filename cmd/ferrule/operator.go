package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// operator are the flags of the operator's verbs, which are clients of the API
// and of nothing else.
type operator struct {
	Endpoint    string `help:"Where the API is; without it, as OS_CLOUD, OS_ENDPOINT and the other OS_* variables say, or http://127.0.0.1:6385." placeholder:"URL"`
	Credentials string `help:"File with one line, USER:PASSWORD, where the API asks for one; without it, OS_USERNAME and OS_PASSWORD under OS_AUTH_TYPE=http_basic." placeholder:"FILE"`
	Token       string `help:"File with one line, a Keystone token, where the API asks for one; without it, OS_TOKEN or a login by the OS_* variables." placeholder:"FILE"`
}

// The limits of one call.
const (
	callTimeout = time.Minute
	maxAnswer   = 16 << 20
)

// call makes one call; in and out are JSON bodies, nil for none.
func (o operator) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	at, err := o.cloud(ctx)
	if err != nil {
		return err
	}
	request, err := o.request(ctx, at, method, path, in)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	transport.TLSClientConfig = at.tls
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("%w; is ferrule running there? --endpoint names another place", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", at.endpoint, err)
	}
	if response.StatusCode/100 != 2 {
		return refusalOf(response.Status, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the answer of %s is not Ferrule's: %w", at.endpoint, err)
	}
	return nil
}

func refusalOf(status string, text []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		return fmt.Errorf("the API answered %s", status)
	}
	return fmt.Errorf("%s (%s)", said.Error, status)
}

// cloud is where the API is and how to log in: as the flags say, then as the
// environment says.
func (o operator) cloud(ctx context.Context) (cloud, error) {
	at, err := cloudFrom(os.Getenv)
	if err != nil {
		return at, err
	}
	at.endpoint = cmp.Or(o.Endpoint, at.endpoint)
	if o.Credentials != "" || o.Token != "" {
		at.keystone, at.token, at.username = nil, "", ""
	}
	if err := at.logIn(ctx); err != nil {
		return at, err
	}
	at.endpoint = cmp.Or(at.endpoint, "http://127.0.0.1:6385")
	return at, nil
}

func (o operator) request(ctx context.Context, at cloud, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(at.endpoint, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("the API's address %s: %w", at.endpoint, err)
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if at.token != "" {
		request.Header.Set("X-Auth-Token", at.token)
	}
	if at.username != "" {
		request.SetBasicAuth(at.username, at.password)
	}
	return request, o.identify(request)
}

// identify says who asks. Secrets come from files, so that none stands in a
// list of processes.
func (o operator) identify(request *http.Request) error {
	if o.Token != "" {
		token, err := readLine(o.Token)
		if err != nil {
			return fmt.Errorf("read the token: %w", err)
		}
		request.Header.Set("X-Auth-Token", token)
	}
	if o.Credentials == "" {
		return nil
	}
	line, err := readLine(o.Credentials)
	if err != nil {
		return fmt.Errorf("read the credentials: %w", err)
	}
	user, password, found := strings.Cut(line, ":")
	if !found {
		return fmt.Errorf("the file %s has no line USER:PASSWORD", o.Credentials)
	}
	request.SetBasicAuth(user, password)
	return nil
}

func readLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimRight(string(text), "\r\n"), err
}
