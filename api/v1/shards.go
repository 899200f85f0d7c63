package v1

import (
	"fmt"
	"net/http"
	"strconv"
)

// listShards counts nodes by shard; those without one go under "None".
func (s *Service) listShards(c *call) error {
	shards, err := s.store.Shards(c.Request().Context())
	if err != nil {
		return err
	}
	b := append(make([]byte, 0, 256), `{"shards":[`...)
	for i := range shards {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"name":`...), orNone(shards[i].Name))
		b = strconv.AppendInt(append(b, `,"count":`...), shards[i].Count, 10)
		b = append(b, '}')
	}
	return c.json(http.StatusOK, append(b, "]}"...))
}

// eventNames are what networks report (Ironic: schemas/v1/event).
var eventNames = map[string]bool{"network.bind_port": true, "network.unbind_port": true, "network.delete_port": true}

// postEvents takes what networks report, and says so in the log; nothing here
// waits for it.
func (s *Service) postEvents(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	for name := range body {
		if name != "events" {
			return badRequest("Schema error for events: Additional properties are not allowed (%q was unexpected)", name)
		}
	}
	events, ok := body["events"].([]any)
	if !ok || len(events) == 0 {
		return badRequest("Schema error for events: a list of one event at least is needed, events")
	}
	for i, item := range events {
		event, ok := item.(map[string]any)
		if !ok {
			return badRequest("Schema error for events: event %d is not an object", i)
		}
		if err := checkEvent(fmt.Sprintf("event %d", i), event); err != nil {
			return err
		}
	}
	for _, event := range events {
		s.log.DebugContext(c.Request().Context(), "external event", "event", event)
	}
	return c.empty(http.StatusNoContent)
}

func checkEvent(where string, event map[string]any) error {
	for _, name := range []string{"event", "port_id", "mac_address", "status"} {
		if _, ok := event[name].(string); !ok {
			return badRequest("Schema error for %s: the text %q is needed", where, name)
		}
	}
	for name, value := range event {
		text, isText := value.(string)
		ok := isText
		switch name {
		case "event":
			ok = eventNames[text]
		case "port_id":
			ok = isUUIDLike(text)
		case "mac_address":
			_, ok = normalMAC(text)
		case "status":
		case "device_id", "binding:host_id":
			ok = value == nil || isText && isUUIDLike(text)
		case "binding:vnic_type":
			ok = value == nil || isText
		default:
			return badRequest("Schema error for %s: Additional properties are not allowed (%q was unexpected)", where, name)
		}
		if !ok {
			return badRequest("Schema error for %s: %s is not valid", where, name)
		}
	}
	return nil
}
