extension Int64 {
    /// The whole number that a floating-point number begins with, or the nearest representable one; 0 if it is none.
    package init(saturating value: Double) {
        self = Int64(exactly: value.rounded(.towardZero)) ?? (value > 0 ? .max : value < 0 ? .min : 0)
    }
}
