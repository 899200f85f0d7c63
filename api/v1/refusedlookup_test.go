package v1

import (
	"fmt"
	"testing"
	"time"
)

func TestOfARefusalTheLogTellsOnceAMinute(t *testing.T) {
	var r refusals
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if !r.tell("a", start) || r.tell("a", start.Add(59*time.Second)) || !r.tell("b", start) || !r.tell("a", start.Add(time.Minute)) {
		t.Error("not once a minute and address")
	}
}

// Who asks with ever new addresses fills neither memory nor log.
func TestRefusalsAreBounded(t *testing.T) {
	var r refusals
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for minute := range 3 {
		told := 0
		for i := range 3 * mostRefusals {
			if r.tell(fmt.Sprint(minute, "/", i), now) {
				told++
			}
		}
		if told != mostRefusals || len(r.told) > mostRefusals {
			t.Errorf("minute %d: told %d times, keeps %d", minute, told, len(r.told))
		}
		now = now.Add(refusalPeriod)
	}
}
