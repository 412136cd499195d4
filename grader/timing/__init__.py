"""How a schedule is timed on a noisy machine, as a small library: NumPy and nothing of TVM.

Timings of one function vary by ten per cent from one second to the next on a shared machine, and
so does every protocol that times one function after the other. What is the same for both is what
disturbs two functions that run within milliseconds of each other. So:

1. A block (`rounds`) is as many calls as the *baseline* needs for some milliseconds, thousands of
   times more than it costs to read a clock. A submission cannot buy itself a short block. Before
   each block the inputs are fresh and the output is poisoned.
2. A round (`rounds`) is one block of each function, in random order, on the same inputs.
3. Disturbance (`estimate`, `pace`): a round in which the scheduler or the hypervisor took a
   processor away, or in which the calling thread was not on one all the time, is dropped and
   counted. How long its blocks took is never looked at, so neither slow nor fast rounds are
   preferred.
4. Estimate (`estimate`): the median over rounds of the logarithm of the ratio; over several shapes
   the geometric mean. Its interval is the percentile bootstrap over rounds (B. Efron, 1979),
   jointly for all shapes and functions, and a little wider where there are few rounds.
5. Stopping (`estimate`): measuring ends once the interval of what decides about points is narrow
   enough.
6. Control (`estimate`): before all that the baseline is compared with itself. Where that does not
   give one, nothing is said about a schedule.

Blocks are taken in a runner, which reports each of them; the referee drops, estimates and decides.
The runner estimates too, but only to know when it may stop.
"""
