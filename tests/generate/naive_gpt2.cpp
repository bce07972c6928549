#include "naive_gpt2.h"

#include <cmath>
#include <string>

namespace {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

class NaiveGpt2 {
 public:
  explicit NaiveGpt2(const ModelFiles &files) : files_(files) {}

  Vector logits(const std::vector<std::int32_t> &token_ids) const {
    Rows rows;
    const Rows wte = matrix("wte.weight");
    const Rows wpe = matrix("wpe.weight");
    for (std::size_t i = 0; i < token_ids.size(); ++i) {
      rows.push_back(sum(wte[static_cast<std::size_t>(token_ids[i])], wpe[i]));
    }
    for (int layer = 0; layer < files_.config.at("n_layer"); ++layer) {
      const std::string block = "h." + std::to_string(layer) + ".";
      const Rows attended =
          attention(linear(normalize(rows, block + "ln_1"), block + "attn.c_attn"), layer);
      rows = sum(rows, linear(attended, block + "attn.c_proj"));
      Rows inner = linear(normalize(rows, block + "ln_2"), block + "mlp.c_fc");
      for (Vector &row : inner) {
        for (double &x : row) x = activation(x);
      }
      rows = sum(rows, linear(inner, block + "mlp.c_proj"));
    }
    const Vector last = normalize(rows, "ln_f").back();
    const bool tied = files_.config.value("tie_word_embeddings", true);
    Vector logits;
    for (const Vector &row : tied ? wte : matrix("lm_head.weight"))
      logits.push_back(dot(row, last));
    return logits;
  }

 private:
  static double dot(const Vector &a, const Vector &b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
    return total;
  }

  static Vector sum(Vector a, const Vector &b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  static Rows sum(Rows a, const Rows &b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = sum(a[i], b[i]);
    return a;
  }

  Vector vector(const std::string &name) const { return files_.tensors.at(name).values(); }

  Rows matrix(const std::string &name) const {
    const Vector values = vector(name);
    const auto width = static_cast<std::size_t>(files_.tensors.at(name).shape[1]);
    Rows rows;
    for (std::size_t i = 0; i < values.size(); i += width) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
      rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(width));
    }
    return rows;
  }

  Rows linear(const Rows &x, const std::string &name) const {
    const Rows weight = matrix(name + ".weight");
    Rows y;
    for (const Vector &row : x) {
      Vector out = vector(name + ".bias");
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t j = 0; j < out.size(); ++j) out[j] += row[i] * weight[i][j];
      }
      y.push_back(out);
    }
    return y;
  }

  Rows normalize(const Rows &x, const std::string &name) const {
    const Vector weight = vector(name + ".weight");
    const Vector bias = vector(name + ".bias");
    const double epsilon = files_.config.value("layer_norm_epsilon", 1e-5);
    Rows y;
    for (const Vector &row : x) {
      const auto size = static_cast<double>(row.size());
      const double mean = dot(row, Vector(row.size(), 1)) / size;
      const Vector centred = sum(row, Vector(row.size(), -mean));
      const double deviation = std::sqrt(dot(centred, centred) / size + epsilon);
      Vector out = bias;
      for (std::size_t i = 0; i < row.size(); ++i) out[i] += centred[i] / deviation * weight[i];
      y.push_back(out);
    }
    return y;
  }

  // Each row of qkv holds a token's query, key and value, each cut into heads.
  Rows attention(const Rows &qkv, int layer) const {
    const std::size_t width = qkv[0].size() / 3;
    const std::size_t head_size = width / files_.config.at("n_head").get<std::size_t>();
    double scale = 1;
    if (files_.config.value("scale_attn_weights", true)) {
      scale /= std::sqrt(static_cast<double>(head_size));
    }
    if (files_.config.value("scale_attn_by_inverse_layer_idx", false)) scale /= layer + 1;
    Rows out;
    for (std::size_t i = 0; i < qkv.size(); ++i) {
      Vector row(width);
      for (std::size_t d = 0; d < width; ++d) {
        const std::size_t head = d / head_size * head_size;
        double total = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          double score = 0;
          for (std::size_t k = head; k < head + head_size; ++k)
            score += qkv[i][k] * qkv[j][width + k];
          const double weight = std::exp(scale * score);
          total += weight;
          row[d] += weight * qkv[j][2 * width + d];
        }
        row[d] /= total;
      }
      out.push_back(row);
    }
    return out;
  }

  double activation(double x) const {
    if (files_.config.value("activation_function", "gelu_new") == "gelu") {
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    }
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  }

  const ModelFiles &files_;
};

}  // namespace

std::vector<double> naive_gpt2_logits(const ModelFiles &files,
                                      const std::vector<std::int32_t> &token_ids) {
  return NaiveGpt2(files).logits(token_ids);
}
