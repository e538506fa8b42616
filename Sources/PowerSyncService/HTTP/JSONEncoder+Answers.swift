import Foundation

extension JSONEncoder {
    /// The encoder of answers: members in the order of their names, so that what has not changed is the same text.
    static var forAnswers: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }
}
