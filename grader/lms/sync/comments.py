"""What students are told beside a grade. It has no points: those are in the gradebook there."""

from grader.language import say

COMMENT = say("The feedback of the autograder is attached as a page.")
