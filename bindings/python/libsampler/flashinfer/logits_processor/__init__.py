"""flashinfer.logits_processor, version 0.7.2, on libsampler: pipelines of temperature, softmax, filters and
a draw. A compiled pipeline that ends in a draw is one call of the library, with one read of its rows.

    pipe = LogitsPipe([Temperature(), Softmax(), TopK(), TopP(), Sample()])
    token_ids = pipe(logits, temperature=0.8, top_k=40, top_p=0.95)
"""

from .compiler import CompileError as CompileError
from .compiler import Compiler as Compiler
from .compiler import FusionRule as FusionRule
from .compiler import compile_pipeline as compile_pipeline
from .pipeline import LogitsPipe as LogitsPipe
from .processors import LegalizationError as LegalizationError
from .processors import LogitsProcessor as LogitsProcessor
from .processors import MinP as MinP
from .processors import Sample as Sample
from .processors import Softmax as Softmax
from .processors import Temperature as Temperature
from .processors import TopK as TopK
from .processors import TopP as TopP
from .processors import legalize_processors as legalize_processors
from .types import Op as Op
from .types import ParameterizedOp as ParameterizedOp
from .types import TaggedTensor as TaggedTensor
from .types import TensorType as TensorType
