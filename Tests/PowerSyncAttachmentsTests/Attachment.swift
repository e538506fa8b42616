import PowerSync

/// The attachment of this package: Swift Testing has one as well.
typealias Attachment = PowerSync.Attachment
