extension Duration {
    /// A time that is not negative, for people: `340 ms` below a second, then `2.7 s`, rounded to a tenth.
    package var readable: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        guard milliseconds >= 1_000 else { return "\(milliseconds) ms" }
        let tenths = (milliseconds + 50) / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
