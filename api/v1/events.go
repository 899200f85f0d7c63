package v1

import (
	"maps"
	"net/http"
	"slices"
)

// eventNames are what networks report (Ironic: schemas/v1/event).
var eventNames = []string{"network.bind_port", "network.unbind_port", "network.delete_port"}

// postEvents takes what networks report, and says so in the log; nothing here
// waits for it.
func (s *Service) postEvents(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	if err := onlyKnown(body, among("events")); err != nil {
		return err
	}
	list, given := body["events"]
	events, ok := list.([]any)
	switch {
	case !given:
		return missing("events")
	case !ok:
		return wrongType(list, "array")
	case len(events) == 0:
		return empty(list)
	}
	for _, item := range events {
		event, ok := item.(map[string]any)
		if !ok {
			return wrongType(item, "object")
		}
		if err := checkEvent(event); err != nil {
			return err
		}
	}
	for _, event := range events {
		s.log.DebugContext(c.Request().Context(), "external event", "event", event)
	}
	return c.empty(http.StatusNoContent)
}

// checkEvent holds an event to Ironic's schema.
func checkEvent(event map[string]any) error {
	if err := onlyKnown(event, func(name string) bool { return eventKeys[name] != nil }); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(event)) {
		if err := eventKeys[name](event[name]); err != nil {
			return err
		}
	}
	for _, name := range []string{"event", "port_id", "mac_address", "status"} {
		if !has(event, name) {
			return missing(name)
		}
	}
	return nil
}

// eventKeys are the members of an event, each with its check.
var eventKeys = map[string]func(v any) error{
	"event": func(v any) error {
		if name, _ := v.(string); !slices.Contains(eventNames, name) {
			return notOneOf(v, eventNames)
		}
		return nil
	},
	"port_id":           eventText(isUUIDLike, "uuid", "string"),
	"mac_address":       eventText(isMAC, "mac-address", "string"),
	"status":            eventText(nil, "", "string"),
	"device_id":         eventText(isUUIDLike, "uuid", "string", "null"),
	"binding:host_id":   eventText(isUUIDLike, "uuid", "string", "null"),
	"binding:vnic_type": eventText(nil, "", "string", "null"),
}

func isMAC(s string) bool {
	_, ok := normalMAC(s)
	return ok
}

// eventText checks a text of the format, or null where it is one of the types.
func eventText(is func(s string) bool, format string, types ...string) func(v any) error {
	return func(v any) error {
		text, isText := v.(string)
		switch {
		case v == nil && slices.Contains(types, "null"):
		case !isText:
			return wrongType(v, types...)
		case is != nil && !is(text):
			return violates("%s is not a %s", shown(v), shown(format))
		}
		return nil
	}
}
