import Foundation
import PowerSyncClient

extension PowerSyncAttachmentError {
    /// Whether the disk, or the user's part of it, is full.
    public var isDiskFull: Bool {
        guard case .ioError(let error) = self else { return false }
        if let error = error as? CocoaError, error.code == .fileWriteOutOfSpace { return true }
        return [.ENOSPC, .EDQUOT].contains(error.posixCode)
    }

    /// Whether the app may not read or write there.
    public var isPermissionDenied: Bool {
        guard case .ioError(let error) = self else { return false }
        if let error = error as? CocoaError, [.fileWriteNoPermission, .fileReadNoPermission].contains(error.code) {
            return true
        }
        return [.EACCES, .EPERM, .EROFS].contains(error.posixCode)
    }
}

extension Error {
    /// The code of a POSIX error, or of the one beneath an error of Foundation.
    fileprivate var posixCode: POSIXErrorCode? {
        if let error = self as? POSIXError { return error.code }
        let underlying = (self as NSError).userInfo[NSUnderlyingErrorKey]
        if let error = underlying as? POSIXError { return error.code }
        guard let error = underlying as? NSError, error.domain == NSPOSIXErrorDomain else { return nil }
        return POSIXErrorCode(rawValue: CInt(error.code))
    }
}
