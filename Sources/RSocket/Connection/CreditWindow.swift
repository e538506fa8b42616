/// How far the responder may run ahead of the consumer of a stream.
///
/// The size bounds what the responder may still send and what has arrived without having been consumed, together. When
/// that has shrunk to the threshold, the window is filled up with one REQUEST_N:
///
/// ```
/// size 10, threshold 5
/// consumed    0   1   2   3   4   5             6 …  10
/// REQUEST_N                       5 (5 left)        5
/// ```
package struct CreditWindow: Sendable, Hashable {
    /// Ten payloads, filled up when five are left, as the official clients do.
    package static let standard = CreditWindow(size: 10, refillThreshold: 5)

    /// The initial request N.
    package let size: RequestN
    /// The window is filled up when it has shrunk to this, from 0 to below the size.
    package let refillThreshold: Int

    /// Creates a window.
    ///
    /// - Parameters:
    ///   - size: Payloads; at least 1.
    ///   - refillThreshold: Payloads; brought into the range from 0 to below the size.
    package init(size: Int, refillThreshold: Int) {
        self.size = RequestN(clamping: size)
        self.refillThreshold = min(max(0, refillThreshold), Int(self.size.rawValue) - 1)
    }
}
