package import Foundation

extension Duration {
    /// A time to wait that an app gives in seconds.
    ///
    /// - Parameter seconds: Anything: what is not a time to wait becomes the nearest one, between 0 and one year.
    package init(clampingSeconds seconds: TimeInterval) {
        self = .seconds(min(max(seconds.isNaN ? 0 : seconds, 0), 365 * 86_400))
    }
}
