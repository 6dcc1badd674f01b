//! Whole texts of real plans.
