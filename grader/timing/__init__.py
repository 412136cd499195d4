"""How a schedule is timed on a busy machine, as a small library: NumPy and nothing of TVM.

Noise only ever adds time. A block of some tens of microseconds is left alone now and then even
where other programs want every processor; one of some milliseconds is not. So many short blocks are
taken, and of each function the quickest count (J. Chen and J. Revels, "Robust benchmarking in noisy
environments", 2016):

1. A block (`slices`) is one call or a few: as many as the *baseline* needs for some tens of
   microseconds. The clock is read in compiled code, behind a call that is not timed.
2. A round is one block of each function, in an order drawn at random.
3. A slice is some rounds at one place of the arrays and of the stack. Its inputs are fresh, its
   output is poisoned, and each of its calls is written down and checked afterwards.
4. Estimate (`estimate`): at each place of the stack the mean of the lowest logarithms of a
   function's times, then the mean over places; over several shapes the geometric mean. The interval
   is the percentile bootstrap over portions of slices (B. Efron, 1979), drawn together for
   all functions.
5. Stopping (`estimate`): when the interval of what decides about points is narrow enough, or the
   budget of processor time is spent.
6. Control (`estimate`): the baseline, compiled twice, is measured beside itself in every round.

Slices are taken in a runner, which reports every block; the referee estimates and decides. The
runner estimates too, but only to know when it may stop.
"""
