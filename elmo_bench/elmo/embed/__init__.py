"""`elmo-bench embed`: the vectors of a whole file, written part by part so that a killed run can resume."""
