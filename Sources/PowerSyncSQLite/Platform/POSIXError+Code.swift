package import Foundation

extension POSIXError {
    /// What the last call of this thread has failed with.
    package static var last: POSIXError { POSIXError(code: errno) }

    /// The error of a number that the system gave, `EIO` for one that it does not name.
    package init(code: CInt) {
        self.init(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
}
