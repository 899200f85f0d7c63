package api

import (
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ferrule/metal"
	"ferrule/store"
)

func stack() string { return string(debug.Stack()) }

// measures are the API's own metrics.
type measures struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMeasures(registry *prometheus.Registry, s *store.Store) (*measures, error) {
	m := &measures{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ferrule_api_requests_total", Help: "Requests answered, by method, route and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ferrule_api_request_seconds", Help: "Time to answer a request, by method and route.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 8),
		}, []string{"method", "route"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, &nodeCounts{store: s}} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// middleware counts a request under its route, never under its path: ids would
// make a series each.
func (m *measures) middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		err := next(c)
		if err != nil {
			c.Error(err)
		}
		route := c.Path()
		if route == "" {
			route = "none"
		}
		method := c.Request().Method
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		default:
			method = "other"
		}
		m.requests.WithLabelValues(method, route, strconv.Itoa(c.Response().Status)).Inc()
		m.seconds.WithLabelValues(method, route).Observe(time.Since(start).Seconds())
		return nil
	}
}

// nodeCounts reads the number of nodes in each state when it is asked.
type nodeCounts struct{ store *store.Store }

var nodesByState = prometheus.NewDesc("ferrule_nodes", "Nodes by provision state.", []string{"provision_state"}, nil)

func (n *nodeCounts) Describe(ch chan<- *prometheus.Desc) { ch <- nodesByState }

func (n *nodeCounts) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counts, err := n.store.NodeCounts(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(nodesByState, err)
		return
	}
	for _, s := range metal.States() {
		ch <- prometheus.MustNewConstMetric(nodesByState, prometheus.GaugeValue, float64(counts[s.State]), string(s.State))
	}
}

func metricsHandler(registry *prometheus.Registry) echo.HandlerFunc {
	// Without a database there are no counts of nodes, but all else.
	return echo.WrapHandler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
}
