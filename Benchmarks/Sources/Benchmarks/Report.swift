/// Prints results as they come: ours, each floor, and the ratio between them.
///
/// ```
/// apply.100k_rows.10_buckets      71.2 k/s    floor one transaction a line  63.0 k/s  ratio 1.13
/// ```
struct Report {
    /// Prints one case.
    ///
    /// - Parameters:
    ///   - name: `area.size`, for example `decode.bson.100k_rows`.
    ///   - ours: Our rate in things a second.
    ///   - floors: What it is compared with, in the same run.
    static func line(_ name: String, ours: Double, floors: [(name: String, rate: Double)]) {
        var text = pad(name, to: 34) + pad(rate(ours), to: 12)
        for floor in floors {
            text += "  floor (\(floor.name)) \(rate(floor.rate)), ratio \(twoDecimals(ours / floor.rate))"
        }
        print(text)
    }

    private static func rate(_ value: Double) -> String {
        value >= 1e6 ? "\(twoDecimals(value / 1e6)) M/s" : "\(twoDecimals(value / 1e3)) k/s"
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
