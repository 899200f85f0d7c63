package v1

import (
	"time"

	"ferrule/metal"
)

// The kinds of field that most resources are made of.

// uuidProperty is an object's own UUID.
func uuidProperty[T any](at func(v *T) *string) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte { return appendString(b, *at(v)) },
		get:  func(v *T) any { return *at(v) },
		set: func(v *T, value any) error {
			s, err := optionalUUID("uuid", value)
			if err == nil && s != nil {
				*at(v) = *s
			}
			return err
		},
	}
}

// nodeProperty is the UUID of the node that an object belongs to; it always
// belongs to one, so removing it does nothing.
func nodeProperty[T any](at func(v *T) *string) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte { return appendString(b, *at(v)) },
		get:  func(v *T) any { return *at(v) },
		set: func(v *T, value any) error {
			if value == nil && *at(v) != "" {
				return nil
			}
			s, ok := value.(string)
			if !ok {
				return wrongType(value, "string")
			}
			if !isUUIDLike(s) {
				return badRequest("Expected UUID for node_uuid: %s", s)
			}
			*at(v) = s
			return nil
		},
	}
}

// textProperty is a text or null; limit 0 is none.
func textProperty[T any](name string, limit int, at func(v *T) **string) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte { return appendNullable(b, *at(v)) },
		get:  func(v *T) any { return textOrNil(*at(v)) },
		set: func(v *T, value any) error {
			s, err := optionalText(limit, value)
			if err == nil {
				*at(v) = s
			}
			return err
		},
	}
}

// wordProperty is a text that is never null.
func wordProperty[T any](name string, at func(v *T) *string) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte { return appendString(b, *at(v)) },
		get:  func(v *T) any { return *at(v) },
		set: func(v *T, value any) error {
			s, ok := value.(string)
			if !ok {
				return wrongType(value, "string")
			}
			*at(v) = s
			return nil
		},
	}
}

// macProperty is a MAC address or null.
func macProperty[T any](name string, at func(v *T) **string) property[T] {
	m := textProperty(name, 0, at)
	m.set = func(v *T, value any) error {
		s, err := optionalText(0, value)
		if err != nil {
			return err
		}
		if s != nil {
			mac, ok := normalMAC(*s)
			if !ok {
				return badRequest("Expected valid MAC address for %s: %s", name, *s)
			}
			s = &mac
		}
		*at(v) = s
		return nil
	}
	return m
}

// flagProperty is a boolean that null and removal bring back to its default.
func flagProperty[T any](name string, fallback bool, at func(v *T) *bool) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte { return appendBool(b, *at(v)) },
		get:  func(v *T) any { return *at(v) },
		set: func(v *T, value any) error {
			flag, err := optionalBool(name, value)
			if err != nil {
				return err
			}
			*at(v) = fallback
			if flag != nil {
				*at(v) = *flag
			}
			return nil
		},
	}
}

// objectProperty is a JSON object; null is the empty one.
func objectProperty[T any](name string, at func(v *T) *metal.JSON) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte { return appendObject(b, *at(v)) },
		get:  func(v *T) any { return at(v).Object() },
		set: func(v *T, value any) error {
			o, err := optionalObject(value)
			if err == nil {
				*at(v) = o
			}
			return err
		},
	}
}

// timeProperty is a time that the store keeps.
func timeProperty[T any](at func(v *T) *time.Time) property[T] {
	return property[T]{show: func(b []byte, v *T, _ *encoding) []byte { return appendTime(b, *at(v)) }}
}

// optionalTimeProperty is the same or null.
func optionalTimeProperty[T any](at func(v *T) **time.Time) property[T] {
	return property[T]{show: func(b []byte, v *T, _ *encoding) []byte { return appendNullableTime(b, *at(v)) }}
}

// linksProperty is the pair of links of the object; below names what is under it.
func linksProperty[T any](uuid func(v *T) string, collection string, below ...string) property[T] {
	return property[T]{show: func(b []byte, v *T, e *encoding) []byte {
		return appendLinks(b, e.base, append([]string{collection, uuid(v)}, below...)...)
	}}
}
