/// The best time of a few runs; noise only ever adds time.
struct Measurement {
    /// The shortest run.
    var best: Duration

    /// Measures a closure.
    ///
    /// - Parameters:
    ///   - runs: How often to run it.
    ///   - prepare: Makes what one run needs, outside the time.
    ///   - body: What is measured.
    /// - Returns: The best run.
    /// - Throws: What the closures throw.
    static func best<Input>(
        of runs: Int,
        prepare: () throws -> Input,
        _ body: (Input) throws -> Void
    ) rethrows -> Measurement {
        var measurement = never
        for _ in 0..<runs { try measurement.improve(prepare: prepare, body) }
        return measurement
    }

    /// No run yet.
    static let never = Measurement(best: .seconds(1_000_000))

    /// Measures a closure once more, for runs that take turns with those of others.
    mutating func improve<Input>(
        prepare: () throws -> Input,
        _ body: (Input) throws -> Void
    ) rethrows {
        let input = try prepare()
        let start = ContinuousClock.now
        try body(input)
        best = min(best, ContinuousClock.now - start)
    }

    /// How many things a second, when a run does `count` of them.
    func rate(of count: Int) -> Double {
        Double(count) * 1_000 / milliseconds
    }

    /// The best time in milliseconds.
    var milliseconds: Double { best / .milliseconds(1) }
}
