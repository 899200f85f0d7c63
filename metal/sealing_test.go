package metal

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawDocument is an object of some depth; every text in it is another one, so
// that a credential found where it should not be is known.
func drawDocument(t *rapid.T, next *int, depth int) any {
	*next++
	text := "text-" + strings.Repeat("x", *next%5) + string(rune('a'+*next%26)) + rapid.StringMatching(`[a-z]{8}`).Draw(t, "text")
	if depth == 0 {
		return text
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0, 1:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			key := rapid.SampledFrom([]string{"a", "b", "password", "my_token", "path", "value", "secret/x", "args"}).Draw(t, "key")
			object[key] = drawDocument(t, next, depth-1)
		}
		return object
	case 2:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawDocument(t, next, depth-1))
		}
		return list
	case 3:
		return rapid.SampledFrom([]any{nil, true, "", "*****", "driver_info/redfish_password"}).Draw(t, "odd")
	}
	return text
}

// secretTexts are the texts directly under a secret key.
func secretTexts(v any, secret bool) []string {
	var found []string
	switch t := v.(type) {
	case map[string]any:
		for k, item := range t {
			found = append(found, secretTexts(item, IsSecretKey(k))...)
		}
	case []any:
		for _, item := range t {
			found = append(found, secretTexts(item, secret)...)
		}
	case string:
		if secret && strings.HasPrefix(t, "text-") {
			found = append(found, t)
		}
	}
	return found
}

func clone(v any) any {
	var c any
	if err := ToJSON(v).Decode(&c); err != nil {
		panic(err) // it was written just before
	}
	return c
}

// A document with refs in the place of its credentials holds none of them, and
// with their values put back is what it was; written over itself with masks it
// stays as it is, in whatever order.
func TestSealingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		document := map[string]any{"doc": drawDocument(t, &n, 4)}
		s := &Sealing{
			Place: SecretPlace{RunbookSecrets, "u", "steps"}, Typed: true,
			Pairs: rapid.Bool().Draw(t, "pairs"), Whole: rapid.Bool().Draw(t, "whole"),
		}
		moved, err := s.Move(clone(document))
		if err != nil {
			t.Fatal(err)
		}
		text := string(ToJSON(moved))
		for _, secret := range secretTexts(document, false) {
			if strings.Contains(text, secret) {
				t.Fatalf("%s is in %s", secret, text)
			}
		}
		refs := SecretRefs(moved)
		slices.Sort(refs)
		if len(slices.Compact(refs)) != len(s.Puts) {
			t.Fatalf("%d refs for %d values", len(refs), len(s.Puts))
		}
		opened, err := ReplaceRefs(clone(moved), func(ref string) (any, error) { return SecretValue(ref, s.Puts[ref]), nil })
		if err != nil || ToJSON(opened) != ToJSON(document) {
			t.Fatalf("opened %s, %v; it was %s", ToJSON(opened), err, ToJSON(document))
		}
		shown, err := ReplaceRefs(clone(moved), func(string) (any, error) { return Masked, nil })
		if err != nil {
			t.Fatal(err)
		}
		again := &Sealing{Place: s.Place, Typed: true, Pairs: s.Pairs, Whole: s.Whole, Old: clone(moved)}
		kept, err := again.Move(shown)
		if err != nil || ToJSON(kept) != ToJSON(moved) || len(again.Puts)+len(again.Drops) > 0 {
			t.Fatalf("written back: %s, not %s; puts %v, drops %v, %v", ToJSON(kept), ToJSON(moved), again.Puts, again.Drops, err)
		}
	})
}

// What answers show in place of a credential is nobody's credential: a script
// that copies nodes would enrol them all with it.
func TestAMaskIsNoCredentialOfANewObject(t *testing.T) {
	for _, document := range []any{
		map[string]any{"redfish_password": Masked},
		map[string]any{"a": map[string]any{"snmp_priv_password": Masked}},
		[]any{map[string]any{"args": map[string]any{"password": Masked}}},
	} {
		s := &Sealing{Place: SecretPlace{RunbookSecrets, "u", "p"}}
		if moved, err := s.Move(document); ReasonOf(err) != Invalid || !strings.Contains(err.Error(), Masked) {
			t.Errorf("%s: %s, %v", ToJSON(document), ToJSON(moved), err)
		}
	}
	plain := &Sealing{Place: SecretPlace{RunbookSecrets, "u", "p"}}
	if _, err := plain.Move(map[string]any{"note": Masked}); err != nil {
		t.Errorf("under a key that is no credential's: %v", err)
	}
}

// A ref that has moved is not given to another value.
func TestARefThatMovedIsNotTaken(t *testing.T) {
	place := SecretPlace{RunbookSecrets, "u", "p"}
	first := &Sealing{Place: place}
	old, err := first.Move([]any{map[string]any{"password": "one"}})
	if err != nil {
		t.Fatal(err)
	}
	was := SecretRefs(old)[0]
	second := &Sealing{Place: place, Old: []any{map[string]any{"password": was}}}
	moved, err := second.Move([]any{map[string]any{"password": "two"}, map[string]any{"password": was}})
	if err != nil {
		t.Fatal(err)
	}
	refs := SecretRefs(moved)
	if refs[1] != was || refs[0] == was || second.Puts[refs[0]] != "two" || len(second.Drops) != 0 {
		t.Errorf("refs %v, puts %v, drops %v", refs, second.Puts, second.Drops)
	}
}

// A text in the form of a ref is refused wherever it stands, unless the object
// had it before.
func TestARefFromOutsideIsRefused(t *testing.T) {
	place := DriverInfoSecrets("n")
	own := place.Below("password").Ref()
	for _, ref := range []string{
		own, place.Below("other").Ref(), DriverInfoSecrets("m").Below("password").Ref(), InstanceInfoSecrets("n").Below("x").Ref(),
		SecretPlace{RunbookSecrets, "n", "x"}.Ref(), "secret://fleet/x", "secret://", "vault://x", "env://FERRULE_SECRET_X",
	} {
		for _, document := range []map[string]any{
			{"password": ref}, {"plain": ref}, {"deep": []any{map[string]any{"x": []any{ref}}}}, {ref: "x"},
			{"password": []any{ref}}, {"deep": map[string]any{"tokens": []any{map[string]any{ref: 1}}}},
		} {
			s := &Sealing{Place: place}
			if _, err := s.Move(clone(document)); ReasonOf(err) != Forbidden {
				t.Errorf("%v: %v", document, err)
			}
		}
		// Not even a row that was edited makes another's ref one's own.
		s := &Sealing{Place: place, Old: map[string]any{"password": ref}}
		_, err := s.Move(map[string]any{"password": ref})
		if inside := place.Holds(ref); inside != (err == nil) {
			t.Errorf("%s in the row: %v", ref, err)
		}
		s = &Sealing{Place: place, Old: map[string]any{"password": ref}}
		if _, err := s.Move(map[string]any{}); err != nil || len(s.Drops) > 0 && !place.Holds(s.Drops[0]) {
			t.Errorf("%s in the row: drops %v, %v", ref, s.Drops, err)
		}
	}
}
