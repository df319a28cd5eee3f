# What a household knows about its alarm, each figure from somebody else.
[insurer]    P(burglary) in [0.02, 0.05]
[geologist]  P(earthquake) in [0.01, 0.03]
[maker_1]    P(alarm | burglary or earthquake) in [0.85, 0.95]
[maker_2]    P(alarm | not burglary and not earthquake) in [0.001, 0.01]
[neighbour]  P(mary_calls | alarm) in [0.6, 0.8]
[habit]      P(mary_calls | not alarm) in [0.02, 0.05]
[logbook]    P(alarm) in [0.04, 0.06]
