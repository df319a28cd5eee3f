# Who advises whom, from who publishes with whom and who assists in whose course.
type student
type professor
predicate wrote_student(student, paper): observed
predicate wrote_professor(professor, paper): observed
predicate assists(student, course): observed
predicate teaches(professor, course): observed
predicate advises(professor, student)

?: advises(p, s)
?: wrote_professor(p, t) and wrote_student(s, t) => advises(p, s)
?: teaches(p, c) and assists(s, c) => advises(p, s)
?: advises(p, s) and advises(q, s) and p != q => false
