package bench

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// z95 is the normal quantile of a two-sided 95 % interval.
const z95 = 1.959963984540054

// interval is an estimate with its 95 % limits.
type interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// holds says that x lies inside.
func (i interval) holds(x float64) bool { return i.Low <= x && x <= i.High }

// scale multiplies everything, for percent.
func (i interval) scale(f float64) interval { return interval{i.Mean * f, i.Low * f, i.High * f} }

// wilson is the score interval of a share of k in n (Wilson 1927; method 3 of Newcombe 1998). With n 0 nothing
// is known: 0 to 1. Counts may be fractions.
func wilson(k, n float64) interval {
	if n <= 0 {
		return interval{0, 0, 1}
	}
	p, z2 := k/n, z95*z95
	mid := (2*k + z2) / (2 * (n + z2))
	half := z95 * math.Sqrt(z2+4*k*(1-p)) / (2 * (n + z2))
	return interval{p, max(0, mid-half), min(1, mid+half)}
}

// newcombe is the interval of the difference of two shares in paired data (method 10 of Newcombe 1998, Stat.
// Med. 17:2635): both are right in a pairs, only the first in b, only the second in c, none in d. Counts may be
// fractions.
func newcombe(a, b, c, d float64) interval {
	n := a + b + c + d
	if n <= 0 {
		return interval{0, -1, 1}
	}
	first, second := wilson(a+b, n), wilson(a+c, n)
	phi := 0.0
	if m := (a + b) * (c + d) * (a + c) * (b + d); m > 0 {
		cov := a*d - b*c
		if cov > 0 {
			cov = max(cov-n/2, 0)
		}
		phi = cov / math.Sqrt(m)
	}
	diff := (b - c) / n
	side := func(x, y float64) float64 { return math.Sqrt(max(0, x*x-2*phi*x*y+y*y)) }
	return interval{
		diff, max(-1, diff-side(first.Mean-first.Low, second.High-second.Mean)),
		min(1, diff+side(first.High-first.Mean, second.Mean-second.Low)),
	}
}

// pairedT is the mean of differences with Student's interval; ok is false when the differences do not spread
// or there are fewer than two, so that it says nothing.
func pairedT(diffs []float64) (i interval, ok bool) {
	n := float64(len(diffs))
	mean, sum := meanOf(diffs), 0.0
	for _, d := range diffs {
		sum += (d - mean) * (d - mean)
	}
	if n < 2 || sum == 0 {
		return interval{mean, mean, mean}, false
	}
	half := tQuantile(n-1) * math.Sqrt(sum/(n-1)/n)
	return interval{mean, mean - half, mean + half}, true
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / max(1, float64(len(x)))
}

// tQuantile is the two-sided 95 % quantile of Student's t with df degrees of freedom.
func tQuantile(df float64) float64 {
	low, high := 0.0, 1e4
	for range 200 {
		if mid := (low + high) / 2; tTail(mid, df) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// tTail is the probability of |T| > t.
func tTail(t, df float64) float64 { return betaInc(df/2, 0.5, df/(df+t*t)) }

// betaInc is the regularised incomplete beta function by its continued fraction.
func betaInc(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - betaInc(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	// Lentz's method; tiny keeps divisors from being zero.
	const tiny = 1e-300
	c, d := 1.0, 1/nonzero(1-(a+b)*x/(a+1), tiny)
	f := d
	for m := 1.0; m < 500; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		for _, k := range []float64{even, odd} {
			d = 1 / nonzero(1+k*d, tiny)
			c = nonzero(1+k/c, tiny)
			f *= c * d
		}
		if math.Abs(c*d-1) < 1e-14 {
			break
		}
	}
	return front * f
}

func nonzero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}

// resamples is how often the bootstrap draws.
const resamples = 4000

// ratio is the total of the first numbers over the total of the second, with a percentile interval by a
// bootstrap over the pairs; nil when the second are nothing. The seed is fixed: the same data give the same interval.
func ratio(pairs [][2]float64) *interval {
	of := func(draw func(i int) int) float64 {
		var x, y float64
		for i := range pairs {
			p := pairs[draw(i)]
			x, y = x+p[0], y+p[1]
		}
		if y == 0 {
			return math.NaN()
		}
		return x / y
	}
	mean := of(func(i int) int { return i })
	if math.IsNaN(mean) {
		return nil
	}
	if len(pairs) < 2 {
		return &interval{mean, 0, math.MaxFloat64} // nothing is known of the spread
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same interval for the same data
	draws := make([]float64, 0, resamples)
	for range resamples {
		if v := of(func(int) int { return rng.IntN(len(pairs)) }); !math.IsNaN(v) {
			draws = append(draws, v)
		}
	}
	slices.Sort(draws)
	return &interval{mean, percentile(draws, 0.025), percentile(draws, 0.975)}
}

// percentile of sorted values by nearest rank; zero when there are none.
func percentile[T cmp.Ordered](sorted []T, q float64) T {
	if len(sorted) == 0 {
		var none T
		return none
	}
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(q*float64(len(sorted))))-1))]
}
