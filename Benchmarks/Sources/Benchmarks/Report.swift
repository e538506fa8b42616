/// Prints results as they come: ours, each floor, and the ratio between them.
///
/// ```
/// apply.100k_rows.10_buckets      71.2 k/s    floor (one transaction a line) 63.0 k/s, ratio 1.13
/// ```
///
/// Ratios are always our speed over the floor's: 1 is as fast as the floor, 0.5 takes twice as long.
struct Report {
    /// Prints one case in things a second.
    ///
    /// - Parameters:
    ///   - name: `area.size`, for example `decode.bson.100k_rows`.
    ///   - ours: Our rate in things a second.
    ///   - floors: What it is compared with, in the same run.
    static func line(_ name: String, ours: Double, floors: [(name: String, rate: Double)]) {
        print(name, rate(ours), floors.map { ($0.name, rate($0.rate), ours / $0.rate) })
    }

    /// Prints one case that is of interest for the time it takes.
    static func time(_ name: String, ours: Measurement, floors: [(name: String, time: Measurement)]) {
        print(name, time(ours), floors.map { ($0.name, time($0.time), $0.time.best / ours.best) })
    }

    /// Prints the median of delays, what 95 % of them do not exceed, and the worst one.
    ///
    /// - Parameters:
    ///   - name: The case, without the figure.
    ///   - delays: Those of the service.
    ///   - floor: Those that it is compared with, in the same run.
    /// - Throws: ``ChildProcess/Failure`` when there are none.
    static func delays(
        _ name: String,
        _ delays: [Duration],
        floor: (name: String, delays: [Duration])? = nil
    ) throws {
        let (delays, least) = (delays.sorted(), floor?.delays.sorted())
        guard !delays.isEmpty, least?.isEmpty != true else {
            throw ChildProcess.Failure(description: "No change has arrived.")
        }
        func delay(_ share: Double, of delays: [Duration]) -> Measurement {
            Measurement(best: delays[min(delays.count - 1, Int(Double(delays.count) * share))])
        }
        for (figure, share) in [("p50", 0.5), ("p95", 0.95), ("worst", 1)] {
            let floors = least.map { [(floor?.name ?? "", delay(share, of: $0))] } ?? []
            time("\(name).\(figure)", ours: delay(share, of: delays), floors: floors)
        }
    }

    /// Prints one case whose unit is neither a rate nor a time.
    static func figure(_ name: String, ours: String, floors: [(name: String, value: String)] = []) {
        let texts = floors.map { "  (\($0.name): \($0.value))" }
        Swift.print(pad(name, to: 44) + pad(ours, to: 12) + texts.joined())
    }

    /// A share of one core.
    static func percent(_ share: Double) -> String { twoDecimals(max(0, share) * 100) + " % of a core" }

    /// Prints the most memory that a case took.
    static func memory(_ name: String, ours: PeakMemory) {
        print(name, "\(ours.bytes / 1_000_000) MB", [])
    }

    private static func print(_ name: String, _ ours: String, _ floors: [(String, String, Double)]) {
        var text = pad(name, to: 44) + pad(ours, to: 12)
        for (floor, value, ratio) in floors {
            text += "  floor (\(floor)) \(value), ratio \(twoDecimals(ratio))"
        }
        Swift.print(text)
    }

    private static func rate(_ value: Double) -> String {
        value >= 1e6 ? "\(twoDecimals(value / 1e6)) M/s" : "\(twoDecimals(value / 1e3)) k/s"
    }

    private static func time(_ value: Measurement) -> String {
        value.milliseconds < 1
            ? twoDecimals(value.milliseconds * 1_000) + " µs" : twoDecimals(value.milliseconds) + " ms"
    }

    private static func twoDecimals(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let fraction = String(hundredths % 100)
        return "\(hundredths / 100)." + (fraction.count == 1 ? "0" : "") + fraction
    }

    private static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
