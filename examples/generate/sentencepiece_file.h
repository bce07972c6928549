#ifndef GENERATE_SENTENCEPIECE_FILE_H
#define GENERATE_SENTENCEPIECE_FILE_H

#include <string_view>

namespace generate {

// Looks at what the library reads from a model's file and takes on trust: the table by which it
// normalizes texts, whose places may lie beyond its end. False: the file is damaged.
bool is_safe_sentencepiece_file(std::string_view file);

// Whether the model changes texts after its pieces are joined.
bool changes_decoded_texts(std::string_view file);

}  // namespace generate

#endif  // GENERATE_SENTENCEPIECE_FILE_H
