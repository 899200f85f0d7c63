package main

import (
	"bytes"
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
	Endpoint    string `help:"Where the API is." default:"http://127.0.0.1:6385" placeholder:"URL"`
	Credentials string `help:"File with one line, USER:PASSWORD, where the API asks for one." placeholder:"FILE"`
	Token       string `help:"File with one line, a Keystone token, where the API asks for one." placeholder:"FILE"`
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
	request, err := o.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w; is ferrule running there? --endpoint names another place", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", o.Endpoint, err)
	}
	if response.StatusCode/100 != 2 {
		return refusalOf(response.Status, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the answer of %s is not Ferrule's: %w", o.Endpoint, err)
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

func (o operator) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(o.Endpoint, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("--endpoint %s: %w", o.Endpoint, err)
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
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
