package bench

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: %.6f, published %.6f", what, got, want)
	}
}

// Newcombe 1998, "Two-sided confidence intervals for the single proportion", Stat. Med. 17:857, table I, method 3.
func TestWilsonPublished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ k, n, low, high float64 }{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718},
	} {
		i := wilson(c.k, c.n)
		near(t, "low", i.Low, c.low, 0.00005)
		near(t, "high", i.High, c.high, 0.00005)
	}
	if i := wilson(0, 0); i.Low != 0 || i.High != 1 {
		t.Errorf("nothing known: %v", i)
	}
}

// Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions based on paired
// data", Stat. Med. 17:2635, method 10.
func TestNewcombePairedPublished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, c, d, diff, low, high float64 }{
		{36, 12, 2, 0, 0.2, 0.0569, 0.3404},
		{18, 12, 2, 18, 0.2, 0.0562, 0.3290},
		{53, 0, 0, 1, 0, -0.0729, 0.0729},
	} {
		i := newcombe(c.a, c.b, c.c, c.d)
		near(t, "difference", i.Mean, c.diff, 1e-9)
		near(t, "low", i.Low, c.low, 0.00005)
		near(t, "high", i.High, c.high, 0.00005)
	}
}

// The quantiles of Student's table, and Student's own data (1908, "The probable error of a mean": hours of sleep
// gained with two drugs), whose paired interval is 0.70 to 2.46.
func TestPairedTPublished(t *testing.T) {
	t.Parallel()
	for df, want := range map[float64]float64{1: 12.706, 2: 4.303, 5: 2.571, 9: 2.262, 30: 2.042, 120: 1.980} {
		near(t, "quantile", tQuantile(df), want, 0.0006)
	}
	i, ok := pairedT([]float64{1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4})
	if !ok {
		t.Fatal("no interval")
	}
	near(t, "mean", i.Mean, 1.58, 1e-9)
	near(t, "low", i.Low, 0.7001142, 1e-6)
	near(t, "high", i.High, 2.4598858, 1e-6)
	for _, none := range [][]float64{nil, {1}, {0.5, 0.5, 0.5}} {
		if _, ok := pairedT(none); ok {
			t.Errorf("an interval from %v", none)
		}
	}
}

// The bootstrap's interval agrees with the one by the delta method where that is good, and is the same every time.
func TestRatio(t *testing.T) {
	t.Parallel()
	var pairs [][2]float64
	for i := range 200 {
		pairs = append(pairs, [2]float64{float64(1 + i%3), float64(2 + i%5)})
	}
	got := ratio(pairs)
	var x, y float64
	for _, p := range pairs {
		x, y = x+p[0], y+p[1]
	}
	r, n := x/y, float64(len(pairs))
	var v float64
	for _, p := range pairs {
		v += (p[0] - r*p[1]) * (p[0] - r*p[1])
	}
	half := z95 * math.Sqrt(v/(n-1)/n) / (y / n)
	near(t, "ratio", got.Mean, r, 1e-12)
	near(t, "low", got.Low, r-half, 0.01)
	near(t, "high", got.High, r+half, 0.01)
	if again := ratio(pairs); *again != *got {
		t.Errorf("%v, then %v", got, again)
	}
	if i := ratio([][2]float64{{1, 0}, {2, 0}}); i != nil {
		t.Errorf("a ratio to nothing: %v", i)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	x := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]int{0: 1, 0.5: 5, 0.95: 10, 0.9: 9, 1: 10} {
		if got := percentile(x, q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if percentile([]int{}, 0.5) != 0 {
		t.Error("none")
	}
}
