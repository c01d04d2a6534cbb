// Nothing: a precompiled header that several libraries share needs a target to belong to.
