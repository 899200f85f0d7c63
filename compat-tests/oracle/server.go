package oracle

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	_ "modernc.org/sqlite" // both servers keep their rows in SQLite here
)

// Server is one of the two that are compared.
type Server struct {
	URL   string
	DB    *sql.DB // its database, for states that a client cannot reach
	Hosts []string
	Keyed bool               // each change is asked for twice, with one Idempotency-Key; the second answer counts
	Watch func(Step, Answer) // sees each answer to a request, whole and masked; nil: nobody does
}

// Connect prepares to talk to a server whose rows are in the SQLite file db.
func Connect(ctx context.Context, base, db string) (*Server, error) {
	s := &Server{URL: strings.TrimRight(base, "/")}
	var err error
	if s.DB, err = sql.Open("sqlite", "file:"+db+"?_pragma=busy_timeout(20000)&_txlock=immediate"); err != nil {
		return nil, fmt.Errorf("open %s: %w", db, err)
	}
	s.DB.SetMaxOpenConns(1)
	var list struct{ Conductors []struct{ Hostname string } }
	if err := s.get(ctx, "/v1/conductors", &list); err != nil {
		return nil, err
	}
	for _, c := range list.Conductors {
		s.Hosts = append(s.Hosts, c.Hostname)
	}
	return s, nil
}

// Close ends the use of the database.
func (s *Server) Close() error { return s.DB.Close() }

func (s *Server) do(ctx context.Context, method, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", latest)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return res, nil
}

// get decodes the answer to a request that has to succeed.
func (s *Server) get(ctx context.Context, path string, into any) error {
	res, err := s.do(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// createNode makes a node and gives its uuid.
func (s *Server) createNode(ctx context.Context, body string) (string, error) {
	if body == "" {
		body = `{"driver": "fake-hardware"}`
	}
	return s.create(ctx, "/v1/nodes", body)
}

func (s *Server) createPort(ctx context.Context, node, address string) (string, error) {
	return s.create(ctx, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": %q}`, node, address))
}

func (s *Server) create(ctx context.Context, path, body string) (string, error) {
	res, err := s.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("POST %s %s: %s", path, body, res.Status)
	}
	var created struct{ UUID string }
	if err := json.NewDecoder(res.Body).Decode(&created); err != nil {
		return "", fmt.Errorf("POST %s: %w", path, err)
	}
	return created.UUID, nil
}

// setColumns changes the stored row of a node.
func (s *Server) setColumns(ctx context.Context, uuid string, columns [][2]string) error {
	var sets []string
	var args []any
	for _, c := range columns {
		sets = append(sets, c[0]+" = ?")
		args = append(args, columnValue(c[0], c[1]))
	}
	query := "UPDATE nodes SET " + strings.Join(sets, ", ") + " WHERE uuid = ?"
	res, err := s.DB.ExecContext(ctx, query, append(args, uuid)...)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%s: %d rows: %w", query, n, err)
	}
	return nil
}

func columnValue(column, text string) any {
	if state, _, ok := findState(text); ok && strings.HasSuffix(column, "provision_state") {
		return state
	}
	switch text {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// stateColumns puts a node into a state with the state's usual target.
func stateColumns(name string) [][2]string {
	_, target, _ := findState(name)
	if target == "" {
		target = "null"
	}
	return [][2]string{{"provision_state", name}, {"target_provision_state", target}}
}

// others are the collections that hold what does not go with a node, and the key
// of their lists. What refers to nodes comes first.
var others = []struct{ path, key string }{
	{"allocations", "allocations"}, {"deploy_templates", "deploy_templates"}, {"runbooks", "runbooks"},
	{"inspection_rules", "inspection_rules"}, {"chassis", "chassis"},
}

// wipe deletes everything that a client can create.
func (s *Server) wipe(ctx context.Context) error {
	if err := s.wipeNodes(ctx); err != nil {
		return err
	}
	for _, o := range others {
		if err := s.wipeAll(ctx, o.path, o.key); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) wipeAll(ctx context.Context, path, key string) error {
	list := map[string][]struct{ UUID string }{}
	res, err := s.do(ctx, http.MethodGet, "/v1/"+path+"?fields=uuid", "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil // not served
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	for _, item := range list[key] {
		if err := s.delete(ctx, "/v1/"+path+"/"+item.UUID); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) wipeNodes(ctx context.Context) error {
	const query = "UPDATE nodes SET provision_state = 'enroll', target_provision_state = NULL, target_power_state = NULL," +
		" reservation = NULL, instance_uuid = NULL, protected = false, maintenance = true"
	for {
		// Again in each round: work that was under way may write its node afterwards.
		if _, err := s.DB.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("make the nodes deletable: %w", err)
		}
		var list struct{ Nodes []struct{ UUID string } }
		if err := s.get(ctx, "/v1/nodes?include_children=true&fields=uuid", &list); err != nil {
			return err
		}
		if len(list.Nodes) == 0 {
			return nil
		}
		for _, n := range list.Nodes {
			if err := s.delete(ctx, "/v1/nodes/"+n.UUID); err != nil && !errors.Is(err, errConflict) {
				return err
			}
		}
	}
}

// errConflict is the answer for a node on which work is under way.
var errConflict = errors.New("conflict")

func (s *Server) delete(ctx context.Context, path string) error {
	res, err := s.do(ctx, http.MethodDelete, path, "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusConflict {
		return fmt.Errorf("DELETE %s: %w", path, errConflict)
	}
	if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusNotFound {
		return fmt.Errorf("DELETE %s: %s", path, res.Status)
	}
	return nil
}
