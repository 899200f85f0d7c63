package metal

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Sealing moves the credentials of one object to secrets of their own. The
// object keeps refs; a mask that is written over one keeps the ref that was
// there. What is to be sealed and what is to be forgotten is gathered here; the
// object never holds a credential once it has been through.
type Sealing struct {
	Owner    string                // what all refs of the object's owner begin with
	Place    string                // of the object within the owner, such as driver_info
	IsSecret func(key string) bool // nil: IsSecretKey
	Pairs    bool                  // beside a path that names a credential, value is one
	Whole    bool                  // every value is secret, one by one
	Typed    bool                  // what is no text is to come back as it was (SecretValue)
	Old      any                   // the object as it was, with refs

	Puts  map[string]string // ref to the value that it stands for from now on
	Drops []string          // refs of the owner's that nothing holds any more

	kept map[string]bool
}

// Move is value with refs for its credentials.
func (s *Sealing) Move(value any) (any, error) {
	if s.IsSecret == nil {
		s.IsSecret = IsSecretKey
	}
	s.kept, s.Puts = map[string]bool{}, map[string]string{}
	// First what stays, so that nothing new takes the ref of what has moved.
	value, err := s.walk(value, s.Old, nil, s.Whole, s.keep)
	if err != nil {
		return nil, err
	}
	moved, err := s.walk(value, s.Old, nil, s.Whole, s.put)
	if err != nil {
		return nil, err
	}
	for _, ref := range SecretRefs(s.Old) {
		if strings.HasPrefix(ref, s.Owner) && !s.kept[ref] {
			s.Drops = append(s.Drops, ref)
		}
	}
	return moved, nil
}

// walk has leaf replace each credential below v; old is what stood at the same
// place, secret whether the key above is one.
func (s *Sealing) walk(v, old any, path []string, secret bool, leaf func(v, old any, path []string) (any, error)) (any, error) {
	switch t := v.(type) {
	case map[string]any:
		oldMap, _ := old.(map[string]any)
		paired := s.Pairs && namesSecret(t["path"])
		for k, item := range t {
			isSecret := s.Whole || s.IsSecret(k) || paired && k == "value"
			moved, err := s.walk(item, oldMap[k], append(slices.Clip(path), k), isSecret, leaf)
			if err != nil {
				return nil, err
			}
			t[k] = moved
		}
		return t, nil
	case []any:
		if secret && !s.Whole {
			return leaf(v, old, path)
		}
		oldList, _ := old.([]any)
		for i, item := range t {
			var before any
			if i < len(oldList) {
				before = oldList[i]
			}
			isSecret := s.Whole || s.Pairs && i > 0 && namesSecret(t[i-1])
			moved, err := s.walk(item, before, append(slices.Clip(path), fmt.Sprint(i)), isSecret, leaf)
			if err != nil {
				return nil, err
			}
			t[i] = moved
		}
		return t, nil
	}
	if !secret {
		return v, nil
	}
	return leaf(v, old, path)
}

// namesSecret reports whether a path leads to a credential.
func namesSecret(path any) bool {
	text, _ := path.(string)
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '.' }), IsDriverInfoSecret)
}

// keep puts the ref that was there in the place of a mask, and notes the refs
// that the value holds.
func (s *Sealing) keep(v, old any, _ []string) (any, error) {
	text, _ := v.(string)
	if before, ok := old.(string); ok && IsSecretRef(before) && (text == Masked || text == before) {
		s.kept[before] = true
		return before, nil
	}
	if IsSecretRef(text) {
		return text, s.checkRef(text)
	}
	return v, nil
}

// put gives a credential a ref.
func (s *Sealing) put(v, _ any, path []string) (any, error) {
	text, isText := v.(string)
	if v == nil || isText && (text == "" || IsSecretRef(text)) {
		return v, nil
	}
	ref := s.ref(path)
	if !isText {
		text = string(ToJSON(v))
		if s.Typed {
			ref += typedSecret
		}
	}
	for s.kept[ref] {
		ref += "~"
	}
	s.kept[ref] = true
	s.Puts[ref] = text
	return ref, nil
}

// typedSecret ends the ref of a value that is no text: sealed is its JSON.
const typedSecret = "/json"

// SecretValue is what the secret under ref stands for.
func SecretValue(ref, text string) any {
	if !strings.HasSuffix(strings.TrimRight(ref, "~"), typedSecret) {
		return text
	}
	var v any
	if err := JSON(text).Decode(&v); err != nil {
		return text
	}
	return v
}

func (s *Sealing) ref(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = url.PathEscape(p)
	}
	return s.Owner + s.Place + "/" + strings.Join(parts, "/")
}

// checkRef refuses a ref that is another's, or outside of what the environment
// lends: a ref is not a key to be borrowed.
func (s *Sealing) checkRef(ref string) error {
	if strings.HasPrefix(ref, s.Owner) {
		s.kept[ref] = true
		return nil
	}
	if kind := SecretKind(ref); kind != "" {
		return Errorf(Forbidden, "The secret %s belongs to another %s.", ref, secretOwners[kind])
	}
	if name, ok := strings.CutPrefix(ref, "env://"); ok && !strings.HasPrefix(name, "FERRULE_SECRET_") {
		return Errorf(Forbidden, "The secret %s is not to be used: names of env:// begin with FERRULE_SECRET_.", ref)
	}
	return nil
}

// SealNode moves the credentials that driver_info and instance_info have got
// since before.
func SealNode(before, after *Node) ([]*Sealing, error) {
	var all []*Sealing
	for _, f := range []struct {
		place    string
		old, now *JSON
		isSecret func(key string) bool
	}{
		{"driver_info", &before.DriverInfo, &after.DriverInfo, IsDriverInfoSecret},
		{"instance_info", &before.InstanceInfo, &after.InstanceInfo, IsSecretKey},
	} {
		if *f.old == *f.now {
			continue
		}
		s := &Sealing{Owner: NodeSecretRef(after.UUID, ""), Place: f.place, IsSecret: f.isSecret, Old: f.old.Object()}
		moved, err := s.Move(f.now.Object())
		if err != nil {
			return nil, err
		}
		*f.now = ToJSON(moved)
		all = append(all, s)
	}
	return all, nil
}

// SecretRefs are the refs anywhere in v.
func SecretRefs(v any) []string {
	var refs []string
	switch t := v.(type) {
	case map[string]any:
		for _, item := range t {
			refs = append(refs, SecretRefs(item)...)
		}
	case []any:
		for _, item := range t {
			refs = append(refs, SecretRefs(item)...)
		}
	case string:
		if IsSecretRef(t) {
			refs = append(refs, t)
		}
	}
	return refs
}

// ReplaceRefs has what replace gives in the place of each ref below v.
func ReplaceRefs(v any, replace func(ref string) (any, error)) (any, error) {
	var err error
	switch t := v.(type) {
	case map[string]any:
		for k, item := range t {
			if t[k], err = ReplaceRefs(item, replace); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range t {
			if t[i], err = ReplaceRefs(item, replace); err != nil {
				return nil, err
			}
		}
	case string:
		if IsSecretRef(t) {
			return replace(t)
		}
	}
	return v, nil
}
