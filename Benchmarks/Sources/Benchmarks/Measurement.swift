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
        var best = Duration.seconds(1_000_000)
        for _ in 0..<runs {
            let input = try prepare()
            let start = ContinuousClock.now
            try body(input)
            best = min(best, ContinuousClock.now - start)
        }
        return Measurement(best: best)
    }

    /// How many things a second, when a run does `count` of them.
    func rate(of count: Int) -> Double {
        Double(count) * 1_000 / milliseconds
    }

    /// The best time in milliseconds.
    var milliseconds: Double { best / .milliseconds(1) }
}
