"""Whether a schedule arrives at the exercise's target: TVM says if, and facts say where not."""
