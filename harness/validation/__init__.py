"""The instructor's proof: the reference holds every fact, stubs hold none, mistakes die, right answers live.

cases       one answer to one function, asked in warm workers
proof       every case of a course, and what falls short
summary     the proof in a terminal
"""
