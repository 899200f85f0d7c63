package places

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowWorkGivesItsPlaceUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(2, time.Second)
		hang := make(chan struct{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { p.Run(t.Context(), false, func() { <-hang }) })
		}
		p.Run(t.Context(), false, func() {}) // returns while the others hang
		close(hang)
		all.Wait()
		if len(p.answering) != 0 {
			t.Errorf("%d places were not given back", len(p.answering))
		}
	})
}

func TestWorkOnSilentMachinesIsBoundedAndApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(2, time.Second)
		hang := make(chan struct{})
		begun := make(chan struct{}, 50)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { p.Run(t.Context(), true, func() { begun <- struct{}{}; <-hang }) })
		}
		p.Run(t.Context(), false, func() {})
		time.Sleep(time.Minute)
		if len(begun) != 2 {
			t.Errorf("%d works on silent machines run in 2 places", len(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if p.Run(ctx, true, func() {}) {
			t.Error("there was a place")
		}
		close(hang)
		all.Wait()
	})
}

func TestWorkWithoutPatienceKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 0)
		hang := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { p.Run(t.Context(), false, func() { <-hang }) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if p.Run(ctx, false, func() {}) {
			t.Error("two ran in one place")
		}
		close(hang)
		all.Wait()
	})
}
