"""What students are told beside a grade. It has no points: those are in the gradebook there."""

from grader.language import say

COMMENT = say("feedback-autograder-attached-as-page")
