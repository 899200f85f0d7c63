package api

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
	"ferrule/store/storetest"
)

// Of every list that pages, each item is on one page, in one shape, and the link
// to the next page leads through the public address with all that was asked for.
func TestPagesOfEveryListFollowTheirLinks(t *testing.T) {
	const public = "https://proxy.example/baremetal"
	s := serve(t, "api.public_endpoint="+public)
	names := furnishLists(s)
	asked := 0
	for _, op := range openapi.Operations {
		has := func(name string) bool {
			return slices.ContainsFunc(op.Params, func(p openapi.Param) bool { return p.Name == name })
		}
		if op.Method != http.MethodGet || !has("marker") {
			continue
		}
		asked++
		at := names.Replace(op.Path)
		key, id := path.Base(strings.TrimSuffix(at, "/detail")), "uuid"
		if key == "conductors" {
			id = "hostname"
		}
		queries := []string{"limit=1"}
		if has("sort_key") && key != "history" {
			queries = append(queries, "limit=2&sort_key=created_at&sort_dir=desc")
		}
		if has("fields") && !strings.HasSuffix(at, "/detail") {
			queries = append(queries, "limit=1&fields="+id)
		}
		for _, query := range queries {
			s.page(public, at, query, key, id)
		}
	}
	if asked < 26 {
		t.Errorf("only %d lists page", asked)
	}
}

// page follows one list to its end.
func (s *served) page(public, at, query, key, id string) {
	s.t.Helper()
	seen, shape := map[string]bool{}, ""
	for next := at + "?" + query; next != ""; {
		answer := s.ask("latest", http.MethodGet, next, "")
		if answer.Code != http.StatusOK {
			s.t.Fatalf("%s: %d %s", next, answer.Code, answer.Body)
		}
		page := answer.object()
		list, _ := page[key].([]any)
		for _, item := range list {
			thing, _ := item.(map[string]any)
			name, now := fmt.Sprint(thing[id]), strings.Join(sortedKeys(thing), ",")
			if seen[name] || shape != "" && shape != now {
				s.t.Errorf("%s?%s: %s twice, or in another shape: %s", at, query, name, now)
			}
			seen[name], shape = true, now
		}
		link, _ := page["next"].(string)
		if link != "" && !strings.HasPrefix(link, public+at+"?") || len(seen) > 9 {
			s.t.Fatalf("%s?%s: after %d items next is %s", at, query, len(seen), link)
		}
		next = strings.TrimPrefix(link, public)
	}
	if len(seen) < 3 {
		s.t.Errorf("%s?%s: %d items", at, query, len(seen))
	}
	if strings.Contains(query, "fields=") && shape != id && shape != "links,"+id && shape != id+",links" {
		s.t.Errorf("%s?%s: shown are %s", at, query, shape)
	}
}

// furnishLists makes three of everything; it gives the names for the parameters
// in paths.
func furnishLists(s *served) *strings.Replacer {
	s.t.Helper()
	make := func(collection, body string) string {
		s.t.Helper()
		made := s.ask("latest", http.MethodPost, "/v1/"+collection, body).want(http.StatusCreated).object()
		return fmt.Sprint(made["uuid"])
	}
	chassis, node, group := "", "", ""
	for range 3 {
		chassis = make("chassis", `{}`)
	}
	for range 3 {
		node = make("nodes", fmt.Sprintf(`{"driver": "fake-hardware", "chassis_uuid": %q}`, chassis))
	}
	for range 3 {
		group = make("portgroups", fmt.Sprintf(`{"node_uuid": %q}`, node))
	}
	for i := range 3 {
		make("ports", fmt.Sprintf(`{"node_uuid": %q, "portgroup_uuid": %q, "address": "52:54:00:00:00:0%d"}`, node, group, i))
		make("volume/connectors", fmt.Sprintf(`{"node_uuid": %q, "type": "iqn", "connector_id": "c%d"}`, node, i))
		make("volume/targets", fmt.Sprintf(`{"node_uuid": %q, "volume_type": "iscsi", "volume_id": "v", "boot_index": %d}`, node, i))
		make("allocations", `{"resource_class": "none"}`)
		make("deploy_templates", fmt.Sprintf(`{"name": "CUSTOM_T%d", "steps": [{"interface": "bios", "step": "s", "args": {}, "priority": 1}]}`, i))
		make("runbooks", fmt.Sprintf(`{"name": "CUSTOM_R%d", "steps": [{"interface": "bios", "step": "s", "args": {}, "order": 1}]}`, i))
		make("inspection_rules", `{"actions": [{"op": "set-attribute", "args": {"path": "extra/a", "value": 1}}]}`)
	}
	storetest.Write(s.t, s.store, func(ctx context.Context, tx *store.Tx) error {
		for range 3 {
			e := metal.HistoryEntry{UUID: storetest.UUID(), NodeUUID: node, EventType: "test", Severity: "INFO"}
			if err := tx.AddHistory(ctx, &e); err != nil {
				return err
			}
		}
		return tx.UpsertConductor(ctx, &metal.Conductor{Hostname: "third", Online: true})
	})
	return strings.NewReplacer("{node}", node, "{portgroup}", group, "{chassis}", chassis)
}
