/// How many entries a request may have: fewer after one that was too large, more again when the backend takes requests.
///
/// Too large is what the backend answers with 413, and what does not reach it in time.
///
/// ```
///             refused: half as many
///  maximum ─────────────────────────────► fewer
///          ◄─────────────────────────────
///           accepted: twice as many, after a pause
/// ```
///
/// Entries differ in size, so the refusal of one request says little about those behind it. But a backend that takes so many and
/// no more would refuse each second request, with all its bytes. So there is a pause after a refusal: of one request at first, and
/// twice as long each time, until as many entries as were refused are accepted after all.
struct UploadLimit: Sendable, Equatable {
    /// The longest pause: 64 requests.
    private static let longestPause = 64

    /// The most entries of a request.
    private(set) var entries: Int
    private let maximum: Int
    /// How many entries the request had that was refused last; `nil` when as many have been accepted since.
    private var refusedEntries: Int?
    /// Whether the last request was refused.
    private var isRefused = false
    /// How many requests are to be accepted after a refusal before more is tried.
    private var pause = 0
    /// How many of them are missing.
    private var missing = 0

    /// Begins with the maximum, which is at least 1.
    init(maximum: Int) {
        self.maximum = maximum
        entries = maximum
    }

    /// The backend has taken a request with so many entries.
    mutating func accepted(_ count: Int) {
        isRefused = false
        if let refusedEntries, count >= refusedEntries {
            self.refusedEntries = nil
            pause = 0
        }
        // A request that is much smaller than it might be says nothing about larger ones.
        guard entries < maximum, count >= (entries + 1) / 2 else { return }
        missing = max(0, missing - 1)
        if missing == 0 { entries = entries > maximum / 2 ? maximum : entries * 2 }
    }

    /// A request with so many entries was too large.
    mutating func refused(_ count: Int) {
        // Several in a row look for the same size.
        if !isRefused { pause = max(1, min(2 * pause, UploadLimit.longestPause)) }
        isRefused = true
        refusedEntries = count
        missing = pause
        entries = max(1, min(entries, count) / 2)
    }
}
